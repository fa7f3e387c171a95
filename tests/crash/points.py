"""Which crash points belong to workers, to publishing and to requests."""

import os

from postino.stores.store import CRASH_POINTS

# Whether to kill everywhere, as `make crash` does, or in some places of each kind, others every time.
EVERYTHING = bool(os.environ.get("CRASH_EVERYTHING"))
OUTSIDE = ("step", "send", "lookup", "handler", "listener")  # the engine's own: calls to code of others
# Writes that only people and programs make, over the API: one transaction each.
REQUESTS = (
    "dispatch_due", "cancel_job", "edit_job", "reschedule_job", "resolve_job", "replay_dead_letter",
    "discard_dead_letter", "load_forecast", "pause", "resume", "set_cap", "end_cooldown", "half_open_circuits",
    "open_circuit", "close_circuit", "reset_circuit", "add_blackout", "remove_blackout", "add_draft", "edit_post",
    "reschedule_post", "publish_post_now", "add_account", "save_account", "set_account_state", "change_draft",
    "remove_draft", "save_import", "save_import_rows", "finish_import", "add_api_key", "remove_api_key",
    "touch_api_key", "add_user", "change_user", "remove_user", "update_password_hash", "begin_login", "forgive_login",
    "start_session", "touch_session", "end_session", "add_sign_in_link", "use_sign_in_link", "accept_database",
    "add_vault_keys", "replace_vault_keys", "write_settings",
)  # fmt: skip
WORKER_POINTS = tuple(point for point in CRASH_POINTS if point.partition(".")[0] not in REQUESTS)
POINTS = (*WORKER_POINTS, *(f"{name}.{side}" for name in OUTSIDE for side in ("before", "after")))
# By posts alone: swept in `publishing/`.
PUBLISHING = (
    "create_posts.", "step.", "save_step.", "forget_step.", "reserve_quota.", "record_intents.", "send.",
    "record_receipt.", "extend_deadline.", "lookup.", "release_quota.", "start_cooldown.", "record_response.",
)  # fmt: skip
# Of a database that may not be the one that workers know: swept in `test_restore.py`.
EXAMINING = (
    "record_pulse.", "ask_person.", "reopen_database.", "enter_lost_intents.", "call_roll.",
    "sign_roll.", "end_roll_call.",
)  # fmt: skip
# Of a worker that cannot claim.
STUCK = ("find_claim_candidates.", "set_aside_job.", "report_trouble.")
ENGINE_POINTS = tuple(point for point in POINTS if not point.startswith((*PUBLISHING, *EXAMINING, *STUCK)))
