"""Contents, posts and accounts: written together with the jobs that carry them."""

from datetime import datetime
from uuid import UUID

from postino.errors import Conflict
from postino.stores.operations.job_actions import edit_job, reschedule_job
from postino.stores.operations.jobs import get_job
from postino.stores.operations.posts import get_post, write_contents
from postino.stores.records import AuditContext
from postino.stores.statement import Operation, ask
from postino.values.job import Job, Queue
from postino.values.post import NewContent, NewPost


def edit_post(
    post_id: UUID, content: NewContent, post: NewPost, payload: bytes, key: str, act: AuditContext
) -> Operation[Job]:
    yield from get_post(post_id)
    job = yield from edit_job(post_id, payload, act)
    before = yield from get_post(post_id)  # under the job's lock: edits at once are counted one after the other
    yield from add_key(job, key, "edited")
    yield from write_contents([content], before.version + 1)
    changed = {"fingerprint": post.fingerprint, "publish_until_at": post.publish_until_at}
    yield ask("update_post", id=post_id, content_id=content.id, **changed)
    return job


def reschedule_post(post_id: UUID, run_at: datetime, key: str, act: AuditContext) -> Operation[Job]:
    job = yield from reschedule_job(post_id, run_at, act)
    yield from add_key(job, key, "rescheduled")
    return job


def publish_post_now(post_id: UUID, act: AuditContext, *, regardless: bool = False) -> Operation[Job]:
    yield from get_post(post_id)
    yield from reschedule_job(post_id, None, act, regardless)
    yield ask("prioritise_job", id=post_id, queue=Queue.HIGH)
    return (yield from get_job(post_id))


def add_key(job: Job, key: str, done: str) -> Operation[None]:
    """Its old key stays its own, too: whoever asked for it with that gets it as it is now."""
    holder = yield ask("claim_key", channel=job.channel, key=key, job_id=job.id)
    if holder[0]["job_id"] != job.id:
        told = f"like this it would be the same as post {holder[0]['job_id']}. Nothing was changed."
        raise Conflict(f"Post {job.id} was not {done}: {told}")
