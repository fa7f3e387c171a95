"""Contents, posts and accounts: written together with the jobs that carry them."""

import json
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from postino.errors import Conflict, NotFound
from postino.rules.idempotency import SAME_WITHIN
from postino.rules.settlement import missed, waited_in_vain
from postino.stores import rows
from postino.stores.operations import answers, byhand, drafts, gates, listing
from postino.stores.operations.connecting import stored_account
from postino.stores.operations.enqueue import enqueue
from postino.stores.operations.settle import clean, settle
from postino.stores.records import Act, Ending, Failure
from postino.stores.statement import Operation, ask, each
from postino.values.event import EventType
from postino.values.gate import GateKind, Scope
from postino.values.job import Job, Queue
from postino.values.post import (
    AccountState,
    NewContent,
    NewPost,
    NewPosts,
    StoredAccount,
    StoredPost,
    Twin,
    Written,
    no_account,
    no_post,
)

KIND_OF = {AccountState.TOKEN_EXPIRED: GateKind.TOKEN, AccountState.PAUSED: GateKind.PAUSE}
IN_VAIN = Failure(None, "Its network was in trouble for too long.")
MISSED = Failure(None, "It was to be out by a certain time, and that time has passed.")


def create(wanted: Sequence[NewPosts], again: bool = False) -> Operation[list[list[Written]]]:
    """In one order, answers, twins, keys: two who bring the same never wait for each other in a circle."""
    todo = yield from unanswered(wanted)
    made = yield from written([wanted[number] for number in todo], again)
    there = dict(zip(todo, made, strict=True))
    for number, posts in there.items():
        if (draft := wanted[number].draft) is not None and not made_before(wanted[number], posts):
            yield from drafts.remove(draft)
    told = [(once, posts) for number, posts in there.items() if (once := wanted[number].once) is not None]
    yield from answers.write_all(told)
    return [there.get(number, []) for number in range(len(wanted))]


def made_before(wanted: NewPosts, posts: Sequence[Written]) -> bool:
    """By an earlier try of the same call, whose answer was lost: the draft went with it."""
    return any(not one.created and one.post.job.id == job.id for one, job in zip(posts, wanted.jobs, strict=True))


def unanswered(wanted: Sequence[NewPosts]) -> Operation[list[int]]:
    """Where in the list those are that nobody has answered before."""
    asked = {number: one.once.asked for number, one in enumerate(wanted) if one.once is not None}
    taken = {id(one) for one in (yield from answers.taken([*asked.values()]))}
    others = {number for number, one in asked.items() if id(one) not in taken}
    if others:
        yield from answers.given([asked[number] for number in sorted(others)])
    return [number for number in range(len(wanted)) if number not in others]


def written(wanted: Sequence[NewPosts], again: bool) -> Operation[list[list[Written]]]:
    posts = {post.id: (one.content, post) for one in wanted for post in one.posts}
    guarded = [post for _, post in posts.values() if post.guard]
    if guarded:
        yield ask("lock_twins", names=sorted(f"{post.account} {post.fingerprint}" for post in guarded))
    enqueued = yield from enqueue([job for one in wanted for job in one.jobs], again)
    created = {found.job.id for found in enqueued if found.created}
    twins = yield from twins_of([post for post in guarded if post.id in created])
    if twins:
        # Raised after the jobs were written, so all of it is undone.
        raise Conflict(second_click(twins))
    new = [posts[post_id] for post_id in posts if post_id in created]
    states = yield from write_posts(new)
    fresh = {found.job.id: found.job for found in enqueued if found.job.id in states}
    there = {post_id: as_written(job, *posts[post_id], states[post_id]) for post_id, job in fresh.items()}
    there |= yield from read_back([found.job.id for found in enqueued if found.job.id not in there])
    found_all = iter(enqueued)
    return [[Written(there[one.job.id], one.created) for one in islice(found_all, len(those.jobs))] for those in wanted]


def write_posts(new: Sequence[tuple[NewContent, NewPost]]) -> Operation[dict[UUID, AccountState | None]]:
    """With their contents; and how the accounts stand of those that are now as they were wanted."""
    yield from write_contents([*{content.id: content for content, _ in new}.values()])
    pressing = [post.id for _, post in new if post.regardless]
    if pressing:
        yield ask("disregard", ids=pressing)
    found = yield each("write_posts", [post_values(post) | {"content_id": content.id} for content, post in new])
    states = {row["id"]: row["account_state"] for row in found if row["id"] not in pressing}
    return {post_id: None if state is None else AccountState(state) for post_id, state in states.items()}


def as_written(job: Job, content: NewContent, post: NewPost, state: AccountState | None) -> StoredPost:
    """The post as it was just written, without reading it back."""
    return StoredPost(
        job=job,
        content_id=content.id,
        content=content.text,
        version=1,
        publish_until_at=post.publish_until_at,
        account_state=state,
    )


def read_back(ids: Sequence[UUID]) -> Operation[dict[UUID, StoredPost]]:
    there = {post.job.id: post for post in (yield from listing.by_ids(ids))}
    for post_id in ids:
        if post_id not in there:
            raise NotFound(no_post(post_id))
    return there


def twins_of(posts: Sequence[NewPost]) -> Operation[list[Twin]]:
    wanted = [{"account": post.account, "fingerprint": post.fingerprint} for post in posts]
    found = yield each("twins", wanted, seconds=SAME_WITHIN.total_seconds())
    return [Twin(row["id"], row["account"]) for row in found]


def second_click(twins: Sequence[Twin]) -> str:
    others = ", ".join(f"post {twin.id} ({twin.account})" for twin in twins)
    return (
        f"The same was published now by the same account within the last ten minutes: {others}. Nothing was queued."
        " If it is meant to appear twice, say so with `allow_duplicate`."
    )


def write_contents(contents: Sequence[NewContent], version: int = 1) -> Operation[None]:
    names = ("id", "text", "words", "brand", "user_id")
    said = [{name: getattr(content, name) for name in names} | {"version": version} for content in contents]
    yield each("write_content", said)


def edit(post_id: UUID, content: NewContent, post: NewPost, payload: bytes, key: str, act: Act) -> Operation[Job]:
    yield from listing.get(post_id)
    job = yield from byhand.edit(post_id, payload, act)
    before = yield from listing.get(post_id)  # under the job's lock: edits at once are counted one after the other
    yield from add_key(job, key, "edited")
    yield from write_contents([content], before.version + 1)
    changed = {"fingerprint": post.fingerprint, "publish_until_at": post.publish_until_at}
    yield ask("edit_post", id=post_id, content_id=content.id, **changed)
    return job


def reschedule(post_id: UUID, run_at: datetime, key: str, act: Act) -> Operation[Job]:
    job = yield from byhand.reschedule(post_id, run_at, act)
    yield from add_key(job, key, "rescheduled")
    return job


def hurry(post_id: UUID, act: Act, *, regardless: bool = False) -> Operation[Job]:
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


def account(account_id: str) -> Operation[StoredAccount]:
    found = yield from accounts_named([account_id])
    if not found:
        raise NotFound(no_account(account_id))
    return found[0]


def accounts_named(names: Sequence[str]) -> Operation[list[StoredAccount]]:
    there = {row["id"]: stored_account(row) for row in (yield ask("accounts_named", ids=[*names]))}
    return [there[name] for name in dict.fromkeys(names) if name in there]


def accounts() -> Operation[list[StoredAccount]]:
    return [stored_account(row) for row in (yield ask("accounts"))]


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
