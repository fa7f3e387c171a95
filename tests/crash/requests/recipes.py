"""For every write that only requests make: a request that passes it, and how to see its effect.

`look` reads the effect. `done` is what it reads once the write is committed; `undone` what it reads if the process died
before the write, where earlier writes of the same request change it, too. `final` is what it reads after the request
was repeated, where that depends on which side the first one died.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from postino import Postino
from postino.rules.stored_settings import parse_settings, render_settings
from postino.stores.records import AuditContext, JobFilter, VaultKey
from postino.values.gate import GateKind
from postino.values.post import PostFilter
from tests.crash.requests.database import read_value
from tests.crash.requests.state import BLACKOUT, PASSWORD, STILL_LATER, make_file

State = Mapping[str, str]
Look = Callable[[Postino, State], Awaitable[Any]]
TOMORROW = (datetime.now(UTC) + timedelta(days=1)).isoformat()
REASON = {"reason": "because"}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How to see that a write took effect."""

    look: Look
    done: Any
    undone: Any = None  # None: what it reads before the request
    final: Mapping[str, Any] = field(default_factory=dict)  # by side; otherwise `done`


@dataclass(frozen=True, kw_only=True)
class Request(Recipe):
    """A request to the API that passes the write; names in braces are those of the prepared state."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    again: int | None = None  # the status of the repeated request if the first took effect; None: the same


@dataclass(frozen=True, kw_only=True)
class LibraryCall(Recipe):
    """A call of the library that passes a write which the API does not offer."""

    run: Callable[[Postino, State], Awaitable[Any]]


def post(path: str, body: Any = None, **more: Any) -> Request:
    return Request(method="POST", path=path, body=body, **more)


def patch(path: str, body: Any, **more: Any) -> Request:
    return Request(method="PATCH", path=path, body=body, **more)


def delete(path: str, **more: Any) -> Request:
    return Request(method="DELETE", path=path, again=404, **more)


def read_job(name: str, read: Callable[[Any], Any]) -> Look:
    async def look(app: Postino, state: State) -> Any:
        return read(await app.store.job(UUID(state[name])))

    return look


def read_state(name: str) -> Look:
    return read_job(name, lambda job: job.state.value)


def read_circuit(service: str) -> Look:
    async def look(app: Postino, _: State) -> str:
        return next((breaker.state.value for breaker in await app.store.circuits() if breaker.service == service), "")

    return look


def read_gates(kind: GateKind) -> Look:
    async def look(app: Postino, _: State) -> list[str]:
        return sorted(gate.name for gate in await app.store.gates() if gate.kind is kind)

    return look


def read_account(name: str) -> Look:
    async def look(app: Postino, state: State) -> str:
        return (await app.store.account(state[name])).state.value

    return look


async def read_standing(app: Postino, _: State) -> str:
    return (await app.store.database_state()).standing.value


async def read_resolution(app: Postino, state: State) -> str | None:
    return (await app.store.dead_letter(UUID(state["dead"]))).resolution


async def count_jobs(app: Postino, _: State) -> int:
    return len(await app.store.jobs(JobFilter(limit=100)))


async def read_cap(app: Postino, _: State) -> int | None:
    return (await app.store.gate_sources())[0].caps.get("bluesky")


async def count_blackouts(app: Postino, _: State) -> int:
    return len(await app.store.blackouts())


async def read_drafts(app: Postino, _: State) -> list[str]:
    return sorted(draft.body for draft in await app.store.drafts(None, None, 10))


async def read_content(app: Postino, state: State) -> bool:
    return "Edited" in (await app.store.post(UUID(state["post"]))).content


async def count_accounts(app: Postino, _: State) -> int:
    return len(await app.store.accounts())


async def count_imported(app: Postino, _: State) -> int:
    return len(await app.store.posts(PostFilter(words="imported")))


async def is_saved(app: Postino, state: State) -> bool:
    return (await app.store.import_by_id(UUID(state["import_id"]))).state == "saved"


async def list_keys(app: Postino, _: State) -> list[str]:
    return sorted(key.name for key in await app.store.api_keys(None, 10))


async def is_key_used(app: Postino, _: State) -> bool:
    return any(key.last_used_at is not None for key in await app.store.api_keys(None, 10))


async def list_users(app: Postino, _: State) -> dict[str, str]:
    return {user.name: user.role.value for user in await app.store.users(None, 10)}


async def has_new_hash(app: Postino, state: State) -> bool:
    hashed = (await app.store.user(UUID(state["ada"]))).password
    return hashed is not None and "t=1," not in hashed


async def is_session_touched(app: Postino, state: State) -> bool:
    result = await app.store.session(UUID(state["session"]))
    assert result is not None
    session, _, now = result
    return session.seen_at is not None and now - session.seen_at < timedelta(minutes=1)


def count_rows(*tables: str, column: str = "count(*)") -> Look:
    """Count rows of tables that no operation of the store lists."""

    async def look(app: Postino, _: State) -> list[int]:
        return [int(await read_value(app, f"SELECT coalesce({column}, 0) FROM {{}}{table}")) for table in tables]

    return look


async def edit_payload(app: Postino, state: State) -> None:
    await app.edit(UUID(state["job"]), {"version": 2})


async def move_to_later(app: Postino, state: State) -> None:
    await app.reschedule(UUID(state["job"]), datetime.fromisoformat(STILL_LATER))


async def probe_service(app: Postino, _: State) -> None:
    """Take a probe of a circuit whose time is over, and leave it half-open."""

    async def fail() -> None:
        raise TimeoutError

    await app.breaker.call("flaky", fail, fallback=succeed)


async def succeed() -> None:
    """Do nothing."""


LOGIN = {"name": "ada", "password": PASSWORD}
COOKIE = {"Cookie": "__Host-postino={cookie}", "X-CSRF-Token": "{csrf_token}"}
NEW_ACCOUNT = {"network": "bluesky", "handle": "bob.test", "credentials": {"password": "x"}}
NEW_BLACKOUT = BLACKOUT | {"brand": "verde"}
GIVE_UP = {"verdict": "give_up", "reason": "gone"}
FAILURES = count_rows("login_throttles", column="sum(failures)")
PAYLOAD = read_job("job", lambda job: job.payload)
RUN_AT = read_job("job", lambda job: job.run_at.isoformat())
POST_AT = read_job("post", lambda job: job.run_at.isoformat())


async def add_vault_key(app: Postino, _: State) -> list[VaultKey]:
    return await app.store.add_vault_keys([VaultKey("another", b"proof", "elsewhere")])


async def reset_vault(app: Postino, _: State) -> list[bytes]:
    return await app.vault_keys.replace(AuditContext("maria", "because"))


async def count_resets(app: Postino, _: State) -> int:
    return [entry.action for entry in await app.store.audit(1000)].count("vault.reset")


REQUESTS: Mapping[str, Request] = {
    "dispatch_due": post(
        "/v1/dispatch-due", look=read_job("due", lambda job: job.dispatched_at is not None), done=True
    ),
    "cancel_job": post("/v1/jobs/{job}/cancel", look=read_state("job"), done="cancelled", again=409),
    "resolve_job": post(
        "/v1/jobs/{uncertain}/resolve", GIVE_UP, look=read_state("uncertain"), done="failed", again=409
    ),
    "replay_dead_letter": post(
        "/v1/jobs/{dead}/replay", {"force": True}, look=read_state("dead"), done="pending", again=409
    ),
    "discard_dead_letter": post(
        "/v1/dead-letters/{dead}/discard", REASON, look=read_resolution, done="discarded", again=409
    ),
    "load_forecast": post("/v1/forecast", {"until": TOMORROW}, look=count_jobs, done=5),
    "pause": post("/v1/gates/brand/pause", {"name": "verde"}, look=read_gates(GateKind.PAUSE), done=["rosso", "verde"]),
    "resume": post("/v1/gates/brand/resume", {"name": "rosso"}, look=read_gates(GateKind.PAUSE), done=[], again=404),
    "set_cap": post("/v1/channels/bluesky/cap", {"cap": 2}, look=read_cap, done=2),
    "accept_database": post(
        "/v1/database/accept", REASON | {"answer": "copy"}, look=read_standing, done="copy", again=409
    ),
    "end_cooldown": post(
        "/v1/gates/channel/end-cooldown", {"name": "mastodon"}, look=read_gates(GateKind.COOLDOWN), done=[], again=404
    ),
    "open_circuit": post(
        "/v1/circuits/bluesky/open", REASON | {"seconds": 60}, look=read_circuit("bluesky"), done="open"
    ),
    "close_circuit": post("/v1/circuits/youtube/close", REASON, look=read_circuit("youtube"), done="closed"),
    "reset_circuit": post("/v1/circuits/youtube/reset", REASON, look=read_circuit("youtube"), done="closed"),
    "add_blackout": post("/v1/blackouts", NEW_BLACKOUT, look=count_blackouts, done=2, status=201, again=409),
    "remove_blackout": delete("/v1/blackouts/{blackout}", look=count_blackouts, done=0),
    "add_draft": post(
        "/v1/drafts", {"text": "New"}, look=read_drafts, done=['{"text": "Drafted"}', '{"text": "New"}'], status=201
    ),
    "change_draft": patch("/v1/drafts/{draft}", {"text": "New"}, look=read_drafts, done=['{"text": "New"}']),
    "remove_draft": delete("/v1/drafts/{draft}", look=read_drafts, done=[]),
    "edit_post": patch("/v1/posts/{post}", {"text": "Edited"}, look=read_content, done=True),
    "reschedule_post": patch("/v1/posts/{post}", {"at": STILL_LATER}, look=POST_AT, done="2035-06-02T12:00:00+00:00"),
    "publish_post_now": post(
        "/v1/posts/{post}/publish-now",
        {"allow_blackout": True},
        look=read_job("post", lambda job: job.queue.label),
        done="high",
    ),
    "add_account": post("/v1/accounts", NEW_ACCOUNT, look=count_accounts, done=3, status=201, again=409),
    "save_account": post(
        "/v1/accounts/{expired}/reconnect",
        {"credentials": {"password": "y"}},
        look=read_account("expired"),
        done="active",
    ),
    "set_account_state": post("/v1/accounts/{account}/pause", look=read_account("account"), done="paused"),
    "save_import": post("/v1/imports", make_file("Another"), look=count_rows("imports"), done=[2]),
    "save_import_rows": post(
        "/v1/imports?commit=true&token={import_token}", b"", look=count_imported, done=1, status=201
    ),
    "finish_import": post("/v1/imports?commit=true&token={import_token}", b"", look=is_saved, done=True, status=201),
    "add_api_key": post(
        "/v1/api-keys",
        {"name": "new", "role": "viewer"},
        look=list_keys,
        done=["new", "program"],
        status=201,
        again=409,
    ),
    "remove_api_key": delete("/v1/api-keys/{key_id}", look=list_keys, done=[]),
    "touch_api_key": Request(
        method="GET", path="/v1/me", headers={"Authorization": "Bearer {key}"}, look=is_key_used, done=True
    ),
    "add_user": post(
        "/v1/users",
        {"name": "nina", "role": "viewer"},
        look=list_users,
        done={"ada": "editor", "olga": "owner", "nina": "viewer"},
        status=201,
        again=409,
    ),
    "change_user": patch(
        "/v1/users/{ada}", {"role": "viewer"}, look=list_users, done={"ada": "viewer", "olga": "owner"}
    ),
    "remove_user": delete("/v1/users/{ada}", look=list_users, done={"olga": "owner"}),
    # A login counts its attempt against the name and the address before it checks the password, and takes only its own
    # attempt back. An attempt that died in between stays counted against the address until it is forgotten.
    "begin_login": post("/v1/login", LOGIN, look=FAILURES, done=[2], final={"before": [0], "after": [1]}),
    "forgive_login": post("/v1/login", LOGIN, look=FAILURES, undone=[2], done=[0], final={"before": [1], "after": [0]}),
    "update_password_hash": post("/v1/login", LOGIN, look=has_new_hash, done=True),
    # Nobody has the cookie of a session, or the token of a link, whose request died.
    "start_session": post(
        "/v1/login", LOGIN, look=count_rows("sessions"), done=[2], final={"before": [2], "after": [3]}
    ),
    "touch_session": Request(method="GET", path="/v1/me", headers=COOKIE, look=is_session_touched, done=True),
    "end_session": post("/v1/logout", headers=COOKIE, look=count_rows("sessions"), done=[0], status=204, again=401),
    "add_sign_in_link": post(
        "/v1/users/{olga}/link", look=count_rows("sign_in_links"), done=[2], final={"before": [2], "after": [3]}
    ),
    "use_sign_in_link": Request(
        method="GET",
        path="/sign-in?token={link}",
        look=count_rows("sign_in_links", "sessions"),
        done=[0, 2],
        status=303,
        again=401,
    ),
}


async def write_caps(app: Postino, _: State) -> None:
    await app.store.write_settings(render_settings({"reports": 7}, []), "test")


async def has_written_caps(app: Postino, _: State) -> bool:
    stored = await app.store.settings()
    return stored is not None and parse_settings(stored.content)[0].get("reports") == 7


CALLS: Mapping[str, LibraryCall] = {
    "write_settings": LibraryCall(run=write_caps, look=has_written_caps, done=True),
    "add_vault_keys": LibraryCall(run=add_vault_key, look=count_rows("vault_keys"), done=[2]),
    "replace_vault_keys": LibraryCall(run=reset_vault, look=count_resets, done=1, final={"before": 1, "after": 2}),
    "edit_job": LibraryCall(run=edit_payload, look=PAYLOAD, done=b'{"version":2}'),
    "reschedule_job": LibraryCall(run=move_to_later, look=RUN_AT, done="2035-06-02T12:00:00+00:00"),
    # The dead process holds the probe until its lease ends, so the repeated call is not admitted.
    "half_open_circuits": LibraryCall(
        run=probe_service, look=read_circuit("flaky"), done="half_open", final={"before": "open", "after": "half_open"}
    ),
}
RECIPES: Mapping[str, Recipe] = {**REQUESTS, **CALLS}
