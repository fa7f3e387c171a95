"""Actions of a person on one post: edit, reschedule, publish now. Only while nothing of it was sent."""

from datetime import datetime
from uuid import UUID

from postino.errors import Conflict
from postino.stores.operations.job_actions import replace_payload, reschedule_job
from postino.stores.operations.jobs import get_job
from postino.stores.operations.posts import get_post, write_contents
from postino.stores.records import AuditContext
from postino.stores.statement import Operation, ask
from postino.values.job import Job, Queue
from postino.values.post import NewContent, NewPost


def edit_post(
    post_id: UUID, content: NewContent, post: NewPost, payload: bytes, key: str, audit: AuditContext
) -> Operation[Job]:
    """Replace the content of a post; the new key is its key, too. Raises Conflict if another post has the key."""
    yield from get_post(post_id)
    job = yield from replace_payload(post_id, payload, audit)
    before = yield from get_post(
        post_id
    )  # read under the job's lock, so that concurrent edits count versions one by one
    yield from add_key(job, key, "edited")
    yield from write_contents([content], before.version + 1)
    changed = {"fingerprint": post.fingerprint, "publish_until_at": post.publish_until_at}
    yield ask("update_post", id=post_id, content_id=content.id, **changed)
    return job


def reschedule_post(post_id: UUID, run_at: datetime, key: str, audit: AuditContext) -> Operation[Job]:
    """Move a post to another time; the new key is its key, too. Raises Conflict if another post has the key."""
    job = yield from reschedule_job(post_id, run_at, audit)
    yield from add_key(job, key, "rescheduled")
    return job


def publish_post_now(post_id: UUID, audit: AuditContext, *, ignore_blackouts: bool = False) -> Operation[Job]:
    """Move a post to now and to the high queue; with `ignore_blackouts`, publish even in a blackout."""
    yield from get_post(post_id)
    yield from reschedule_job(post_id, None, audit, ignore_blackouts)
    yield ask("prioritise_job", id=post_id, queue=Queue.HIGH)
    return (yield from get_job(post_id))


def add_key(job: Job, key: str, action: str) -> Operation[None]:
    """Give a job one more key; its old keys stay its own. Raises Conflict if another job has it."""
    holder = yield ask("claim_key", channel=job.channel, key=key, job_id=job.id)
    if holder[0]["job_id"] != job.id:
        message = f"it would be the same as post {holder[0]['job_id']}. Nothing was changed."
        raise Conflict(f"Post {job.id} was not {action}: {message}")
