"""The database that every case of this sweep starts from: one of each thing that a request can change."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from argon2 import PasswordHasher

from postino import Job, Postino
from postino.auth.sign_in import derive_csrf_token
from postino.rules.circuit_breaker import BreakerPolicy
from postino.rules.retry import Exponential, RetryPolicy
from postino.rules.settlement import settle_job
from postino.stores.records import AuditContext, ClaimRequest, SettledJob, WorkerInfo
from postino.values.auth import Role
from postino.values.gate import Scope
from postino.values.job import new_id
from postino.values.outcome import Outcome, Reject, Unknown
from postino.values.post import AccountState
from tests.adoption import adopt_database
from tests.api.processes import Client

ME = AuditContext("test", "preparation")
AGE = timedelta(minutes=5)  # older than a recorded use of a key or a session, younger than the end of a sign-in link
LATER, STILL_LATER = "2035-06-01T12:00:00Z", "2035-06-02T12:00:00Z"
ACCOUNT, EXPIRED = "bluesky:anna.test", "bluesky:expired.test"
PASSWORD = "correct horse"
BLACKOUT = {"scope": "brand", "brand": "rosso", "start": "22:00", "end": "23:00", "timezone": "Europe/Rome"}
ONE_ATTEMPT = RetryPolicy(1, Exponential(60))
TRIP_AT_ONCE = BreakerPolicy(failure_threshold=1, open_timeout=timedelta(seconds=1))


def create_over_api(client: Client) -> dict[str, str]:
    """Create accounts, a post, a draft, a checked import and a blackout; return their ids."""

    def create(path: str, body: Any) -> Any:
        reply = client.ask("POST", path, body)
        assert reply.status in (200, 201), reply
        return reply.json

    for handle in ("anna.test", "expired.test"):
        account = {"network": "bluesky", "handle": handle, "credentials": {"password": "x"}, "brand": "rosso"}
        create("/v1/accounts", account)
    return {
        "account": ACCOUNT,
        "expired": EXPIRED,
        "post": create("/v1/posts", {"text": "Planned", "accounts": [ACCOUNT], "at": LATER})["id"],
        "draft": create("/v1/drafts", {"text": "Drafted"})["id"],
        "blackout": create("/v1/blackouts", BLACKOUT)["id"],
    } | {
        f"import_{name}": value
        for name, value in create("/v1/imports", make_file("Imported")).items()
        if name in ("id", "token")
    }


def make_file(text: str) -> bytes:
    """Return a CSV file with one post."""
    return f"text,accounts,at\n{text},{ACCOUNT},{LATER}\n".encode()


def set_clock_back(app: Postino) -> None:
    """Let this application, which is not open yet, write times of some minutes ago."""
    app.store.driver.clock = lambda: datetime.now(UTC) - AGE  # type: ignore[attr-defined]


async def fill(app: Postino) -> dict[str, str]:
    """Add what the API cannot: settled jobs, closed gates, and people whose last use was some time ago."""
    state = await add_jobs(app) | await add_people(app)
    await app.store.set_account_state(EXPIRED, AccountState.TOKEN_EXPIRED, "revoked", ME)
    await app.store.pause(Scope.BRAND, "rosso", ME)
    await adopt_database(app.store, "installation", "era")
    await app.store.start_cooldown(Scope.CHANNEL, "mastodon", datetime.now(UTC) + timedelta(hours=1), "429")
    await app.store.open_circuit("youtube", None, 1, ME)
    await app.store.record_response("flaky", False, TRIP_AT_ONCE, "down")
    return state


async def add_jobs(app: Postino) -> dict[str, str]:
    """Add a job with a dead letter, an uncertain one, one that is due and one that is not."""
    dead, uncertain = await app.enqueue("dead"), await app.enqueue("uncertain")
    await settle_due_jobs(app, lambda job: Reject("no") if job.type == "dead" else Unknown("no response"))
    due = await app.enqueue("due")
    job = await app.enqueue("report", {"version": 1}, at=datetime.fromisoformat(LATER))
    return {"dead": str(dead.id), "uncertain": str(uncertain.id), "due": str(due.id), "job": str(job.id)}


async def settle_due_jobs(app: Postino, decide: Callable[[Job], Outcome]) -> None:
    """Claim all due jobs and settle each as decided."""
    await app.store.register_worker(WorkerInfo(id="w", host="here", pid=1))
    request = ClaimRequest(worker="w", token=new_id(), free=10, poll=await app.store.poll("w"))
    now = await app.store.now()
    jobs = await app.store.claim(request)
    await app.store.settle([SettledJob(job, settle_job(job, decide(job), ONE_ATTEMPT, now, 0)) for job in jobs])
    await app.store.unregister_worker("w")


async def add_people(app: Postino) -> dict[str, str]:
    """Add a user with an outdated password hash, one with a session and a sign-in link, and an API key."""
    ada = await app.users.add("ada", Role.EDITOR, password=PASSWORD, act=ME)
    outdated = PasswordHasher(time_cost=1, memory_cost=8 * 1024, parallelism=1).hash(PASSWORD)
    await app.store.change_user(replace(ada, password=outdated), ["password"], ME)
    olga = await app.users.add("olga", Role.OWNER, act=ME)
    session, cookie = await app.sign_in.create_session(olga.id)
    await app.store.start_session(session, ME)
    key, text = await app.api_keys.add("program", Role.VIEWER, act=ME)
    return {
        "ada": str(ada.id), "olga": str(olga.id), "session": str(session.id), "cookie": cookie,
        "csrf_token": derive_csrf_token(cookie), "link": await app.sign_in.create_link(olga.id, ME),
        "key": text, "key_id": str(key.id),
    }  # fmt: skip
