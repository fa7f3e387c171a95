"""Contents, posts and accounts: written together with the jobs that carry them."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.errors import Conflict, NotFound
from postino.event import EventType
from postino.gate import GateKind, Scope
from postino.job import Job, Queue
from postino.post import (
    AccountState,
    NewContent,
    NewPost,
    Once,
    StoredAccount,
    Twin,
)
from postino.rules.idempotency import SAME_WITHIN
from postino.rules.settlement import missed, waited_in_vain
from postino.store import Act, Ending, Enqueued, Failure, NewJob
from postino.stores import rows
from postino.stores.operations import answers, byhand, drafts, gates, listing
from postino.stores.operations.enqueue import enqueue
from postino.stores.operations.settle import clean, settle
from postino.stores.statement import Operation, Row, ask, each

KIND_OF = {AccountState.TOKEN_EXPIRED: GateKind.TOKEN, AccountState.PAUSED: GateKind.PAUSE}
IN_VAIN = Failure(None, "Its network was in trouble for too long.")
MISSED = Failure(None, "It was to be out by a certain time, and that time has passed.")


def create(
    content: NewContent,
    posts: Sequence[NewPost],
    jobs: Sequence[NewJob],
    again: bool,
    once: Once | None = None,
    draft: UUID | None = None,
) -> Operation[list[Enqueued]]:
    if once is not None and (yield from answers.known(once.asked, keep=True)) is not None:
        return []
    enqueued = yield from written(content, posts, jobs, again)
    if draft is not None:
        yield from drafts.remove(draft)
    if once is not None:
        made = yield from listing.by_ids([found.job.id for found in enqueued])
        yield from answers.write(once, [*zip(made, (found.created for found in enqueued), strict=True)])
    return enqueued


def written(
    content: NewContent, posts: Sequence[NewPost], jobs: Sequence[NewJob], again: bool
) -> Operation[list[Enqueued]]:
    guarded = [post for post in posts if post.guard]
    if guarded:
        yield ask("lock_twins", names=sorted(f"{post.account} {post.fingerprint}" for post in guarded))
    enqueued = yield from enqueue(jobs, again)
    created = {found.job.id for found in enqueued if found.created}
    new = [post for post in posts if post.id in created]
    twins = yield from twins_of([post for post in new if post.guard])
    if twins:
        # Raised after the jobs were written, so all of it is undone.
        raise Conflict(second_click(twins))
    if new:
        yield from write_content(content)
        pressing = [post.id for post in new if post.regardless]
        if pressing:
            yield ask("disregard", ids=pressing)
        yield each("write_posts", [post_values(post) for post in new], content_id=content.id)
    return enqueued


def twins_of(posts: Sequence[NewPost]) -> Operation[list[Twin]]:
    wanted = [{"account": post.account, "fingerprint": post.fingerprint} for post in posts]
    found = yield each("twins", wanted, seconds=SAME_WITHIN.total_seconds())
    return [Twin(row["id"], row["account"]) for row in found]


def second_click(twins: Sequence[Twin]) -> str:
    others = ", ".join(f"post {twin.id} ({twin.account})" for twin in twins)
    return (
        f"The same was published now by the same account within the last ten minutes: {others}. Nothing was queued."
        " If it is meant to appear twice, say so with allow_duplicate."
    )


def write_content(content: NewContent, version: int = 1) -> Operation[None]:
    yield ask(
        "write_content",
        id=content.id, text=content.text, words=content.words, brand=content.brand, user_id=content.user_id,
        version=version,
    )  # fmt: skip


def edit(
    post_id: UUID, content: NewContent, post: NewPost, payload: bytes, key: str, act: Act
) -> Operation[Job]:
    yield from listing.get(post_id)
    job = yield from byhand.edit(post_id, payload, act)
    before = yield from listing.get(post_id)  # under the job's lock: edits at once are counted one after the other
    yield from add_key(job, key, "edited")
    yield from write_content(content, before.version + 1)
    changed = {"fingerprint": post.fingerprint, "publish_until_at": post.publish_until_at}
    yield ask("edit_post", id=post_id, content_id=content.id, **changed)
    return job


def reschedule(post_id: UUID, run_at: datetime, key: str, act: Act) -> Operation[Job]:
    job = yield from byhand.reschedule(post_id, run_at, act)
    yield from add_key(job, key, "rescheduled")
    return job


def hurry(post_id: UUID, act: Act, regardless: bool) -> Operation[Job]:
    yield from listing.get(post_id)
    yield from byhand.reschedule(post_id, None, act, regardless)
    yield ask("hurry", id=post_id, queue=Queue.HIGH)
    return (yield from byhand.get(post_id))


def add_key(job: Job, key: str, done: str) -> Operation[None]:
    """Its old key stays its own, too: whoever asked for it with that gets it as it is now."""
    holder = yield ask("add_key", channel=job.channel, key=key, job_id=job.id)
    if holder[0]["job_id"] != job.id:
        told = f"like this it would be the same as post {holder[0]['job_id']}. Nothing was changed."
        raise Conflict(f"Post {job.id} was not {done}: {told}")


def miss(give_up_after: float) -> Operation[list[Job]]:
    late = rows.live_jobs((yield ask("take_missed")))
    given_up = rows.live_jobs((yield ask("take_given_up", seconds=give_up_after)))
    if not late and not given_up:
        return []
    clock = yield ask("clock")
    hours = f"{give_up_after / 3600:g} hours"
    endings = [
        Ending(rows.with_owner(job, "postino", clock[0]["now_at"]), settlement, failure)
        for jobs, settlement, failure in ((late, missed(), MISSED), (given_up, waited_in_vain(hours), IN_VAIN))
        for job in jobs
    ]
    yield from settle(endings)
    return [*late, *given_up]


def put_account(account: StoredAccount, act: Act | None) -> Operation[StoredAccount]:
    known = yield ask("accounts", id=account.id)
    if known and known[0]["network"] != account.network:
        raise Conflict(f"Account {account.id} is one on {known[0]['network']}, not on {account.network}.")
    names = ("id", "network", "handle", "base_url", "brand", "remote_id", "sealed")
    written = yield ask("put_account", **{name: getattr(account, name) for name in names})
    if known and known[0]["state"] == AccountState.TOKEN_EXPIRED:
        yield from gates.unshut(Scope.ACCOUNT, account.id, GateKind.TOKEN)
    if act is not None:
        yield from byhand.write_audit(act, f"account.{'reconnected' if known else 'added'}", f"account:{account.id}")
    return stored_account(written[0])


def account(account_id: str) -> Operation[StoredAccount]:
    found = yield ask("accounts", id=account_id)
    if not found:
        raise NotFound(f"There is no account {account_id}. `postino accounts list` shows those there are.")
    return stored_account(found[0])


def accounts() -> Operation[list[StoredAccount]]:
    return [stored_account(row) for row in (yield ask("accounts", id=None))]


def mark_account(account_id: str, state: AccountState, reason: str | None, act: Act) -> Operation[StoredAccount]:
    before = yield from account(account_id)
    reason = clean(reason)
    marked = yield ask("mark_account", id=account_id, state=state, reason=reason)
    if state is AccountState.ACTIVE and before.state is not AccountState.ACTIVE:
        yield from gates.unshut(Scope.ACCOUNT, account_id, KIND_OF[before.state])
    elif state is not AccountState.ACTIVE:
        yield from gates.shut(Scope.ACCOUNT, account_id, KIND_OF[state], reason=reason)
    told = {"account": account_id, "state": state, "reason": reason or ""}
    yield from byhand.told(EventType.ACCOUNT_MARKED, None, told)
    yield from byhand.write_audit(act, EventType.ACCOUNT_MARKED, f"account:{account_id}", json.dumps(told))
    return stored_account(marked[0])


def post_values(post: NewPost) -> dict[str, Any]:
    return {name: getattr(post, name) for name in ("id", "network", "account", "fingerprint", "publish_until_at")}


def stored_account(row: Row) -> StoredAccount:
    told = {name: row[name] for name in StoredAccount.__slots__}
    return StoredAccount(**{**told, "state": AccountState(row["state"])})

