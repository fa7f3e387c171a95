"""Who may do what: one row for each route. A route without a row is for owners of everything alone."""

from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import HTTPException

from postino.api.caller import Caller, Role

RANK = (Role.VIEWER, Role.EDITOR, Role.OWNER)


@dataclass(frozen=True, slots=True)
class Row:
    """The least role, none for everybody; and whether who has only some brands may use it at all."""

    least: Role | None
    some_brands: bool = True


ANYBODY = Row(None)
LOOK, PUBLISH, OWN = Row(Role.VIEWER), Row(Role.EDITOR), Row(Role.OWNER)
LOOK_AT_ALL, DECIDE_FOR_ALL, OWN_ALL = Row(Role.VIEWER, False), Row(Role.EDITOR, False), Row(Role.OWNER, False)

ROWS: Mapping[tuple[str, str], Row] = {
    ("GET", "/"): ANYBODY,
    ("GET", "/health/live"): ANYBODY,
    ("GET", "/health/ready"): ANYBODY,
    ("GET", "/v1/openapi.json"): ANYBODY,
    ("POST", "/v1/login"): ANYBODY,
    ("GET", "/sign-in"): ANYBODY,
    ("GET", "/v1/me"): LOOK,
    ("POST", "/v1/logout"): LOOK,
    ("GET", "/v1/api-keys"): OWN_ALL,
    ("POST", "/v1/api-keys"): OWN_ALL,
    ("DELETE", "/v1/api-keys/{key_id}"): OWN_ALL,
    ("GET", "/v1/users"): OWN_ALL,
    ("POST", "/v1/users"): OWN_ALL,
    ("GET", "/v1/users/{user_id}"): OWN_ALL,
    ("PATCH", "/v1/users/{user_id}"): OWN_ALL,
    ("DELETE", "/v1/users/{user_id}"): OWN_ALL,
    ("POST", "/v1/users/{user_id}/link"): OWN_ALL,
    ("GET", "/v1/audit"): OWN_ALL,
    ("POST", "/v1/posts"): PUBLISH,
    ("GET", "/v1/posts"): LOOK,
    ("GET", "/v1/posts/{post_id}"): LOOK,
    ("PATCH", "/v1/posts/{post_id}"): PUBLISH,
    ("POST", "/v1/posts/{post_id}/publish-now"): PUBLISH,
    ("POST", "/v1/posts/{post_id}/cancel"): PUBLISH,
    ("POST", "/v1/posts/{post_id}/replay"): PUBLISH,
    ("POST", "/v1/posts/{post_id}/resolve"): PUBLISH,
    ("GET", "/v1/posts/{post_id}/explain"): LOOK,
    ("POST", "/v1/posts/validate"): LOOK,
    ("GET", "/v1/calendar"): LOOK,
    ("POST", "/v1/drafts"): PUBLISH,
    ("GET", "/v1/drafts"): LOOK,
    ("GET", "/v1/drafts/{draft_id}"): LOOK,
    ("PATCH", "/v1/drafts/{draft_id}"): PUBLISH,
    ("DELETE", "/v1/drafts/{draft_id}"): PUBLISH,
    ("POST", "/v1/drafts/{draft_id}/schedule"): PUBLISH,
    ("POST", "/v1/imports"): PUBLISH,
    ("GET", "/v1/imports/{import_id}"): LOOK,
    ("GET", "/v1/contents/{content_id}"): LOOK,
    ("GET", "/v1/accounts"): LOOK,
    ("GET", "/v1/accounts/{account_id}"): LOOK,
    ("POST", "/v1/accounts"): OWN,
    ("POST", "/v1/accounts/{account_id}/reconnect"): OWN,
    ("POST", "/v1/accounts/{account_id}/check"): PUBLISH,
    ("POST", "/v1/accounts/{account_id}/pause"): PUBLISH,
    ("POST", "/v1/accounts/{account_id}/resume"): PUBLISH,
    ("POST", "/v1/jobs"): PUBLISH,
    ("GET", "/v1/jobs"): LOOK,
    ("GET", "/v1/jobs/{job_id}"): LOOK,
    ("GET", "/v1/jobs/{job_id}/explain"): LOOK,
    ("POST", "/v1/jobs/test"): LOOK,
    ("POST", "/v1/jobs/bulk"): PUBLISH,
    ("POST", "/v1/jobs/{job_id}/cancel"): PUBLISH,
    ("POST", "/v1/jobs/{job_id}/replay"): PUBLISH,
    ("POST", "/v1/jobs/{job_id}/resolve"): PUBLISH,
    ("POST", "/fp-publisher/v1/jobs"): PUBLISH,
    ("GET", "/fp-publisher/v1/jobs"): LOOK,
    ("POST", "/fp-publisher/v1/jobs/test"): LOOK,
    ("POST", "/fp-publisher/v1/jobs/{job_id}/replay"): PUBLISH,
    ("GET", "/v1/dead-letters"): LOOK,
    ("GET", "/v1/dead-letters/groups"): LOOK,
    ("GET", "/v1/dead-letters/{job_id}"): LOOK,
    ("POST", "/v1/dead-letters/replay"): PUBLISH,
    ("POST", "/v1/dead-letters/discard"): PUBLISH,
    ("POST", "/v1/dead-letters/{job_id}/replay"): PUBLISH,
    ("POST", "/v1/dead-letters/{job_id}/discard"): PUBLISH,
    ("GET", "/v1/uncertain"): LOOK,
    ("GET", "/v1/uncertain/{job_id}"): LOOK,
    ("POST", "/v1/uncertain/{job_id}/look"): PUBLISH,
    ("GET", "/v1/brands"): LOOK,
    ("GET", "/v1/quotas"): LOOK,
    ("GET", "/v1/stats"): LOOK,
    ("GET", "/v1/events"): LOOK,
    ("GET", "/v1/workers"): LOOK_AT_ALL,
    ("GET", "/v1/sandbox/published"): LOOK_AT_ALL,
    ("GET", "/v1/sandbox/networks"): LOOK_AT_ALL,
    ("GET", "/v1/sandbox/calls"): LOOK_AT_ALL,
    ("GET", "/v1/sandbox/faults"): LOOK_AT_ALL,
    ("POST", "/v1/sandbox/faults"): DECIDE_FOR_ALL,
    ("DELETE", "/v1/sandbox/faults"): DECIDE_FOR_ALL,
    ("DELETE", "/v1/sandbox/faults/{fault_id}"): DECIDE_FOR_ALL,
    ("POST", "/v1/sandbox/reset"): OWN_ALL,
    ("POST", "/v1/simulate"): LOOK_AT_ALL,
    ("GET", "/v1/blackouts"): LOOK_AT_ALL,
    ("POST", "/v1/blackouts"): DECIDE_FOR_ALL,
    ("DELETE", "/v1/blackouts/{blackout_id}"): DECIDE_FOR_ALL,
    ("GET", "/v1/circuits"): LOOK_AT_ALL,
    ("POST", "/v1/circuits/{service}/open"): DECIDE_FOR_ALL,
    ("POST", "/v1/circuits/{service}/close"): DECIDE_FOR_ALL,
    ("POST", "/v1/circuits/{service}/reset"): DECIDE_FOR_ALL,
    ("GET", "/v1/queues"): LOOK_AT_ALL,
    ("POST", "/v1/gates/{scope}/pause"): DECIDE_FOR_ALL,
    ("POST", "/v1/gates/{scope}/resume"): DECIDE_FOR_ALL,
    ("POST", "/v1/gates/{scope}/warm"): DECIDE_FOR_ALL,
    ("POST", "/v1/channels/{channel}/cap"): DECIDE_FOR_ALL,
    ("POST", "/v1/dispatch-due"): DECIDE_FOR_ALL,
}


def row_of(method: str, path: str) -> Row:
    return ROWS.get(("GET" if method == "HEAD" else method, path), OWN_ALL)


def check(caller: Caller, method: str, path: str) -> None:
    row = row_of(method, path)
    unchanged = "" if method in ("GET", "HEAD") else " Nothing was changed."
    if row.least is not None and RANK.index(caller.role) < RANK.index(row.least):
        raise HTTPException(403, f"This is for {an(row.least)}, and you are {an(caller.role)}.{unchanged}")
    if caller.brands is not None and not row.some_brands:
        raise HTTPException(403, f"This is about all brands, and you have only some of them.{unchanged}")


def an(role: Role) -> str:
    return f"{'a' if role is Role.VIEWER else 'an'} {role.value}"
