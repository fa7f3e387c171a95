"""Decide whether a dead letter may be replayed unchanged, and whose payload may be replaced."""

from uuid import UUID

from postino.rules.settlement import DeadLetterCause
from postino.values.post import POST

OR_FORCE = "Edit its payload, or force the replay."
FORCE_POST = "Set `force` if the cause is gone, or create a new post."
KEEPS_PAYLOAD = (
    "payload: job {} is a post, and Postino publishes the content that is recorded for it. Edit a waiting post with"
    " `PATCH /v1/posts/{}` (`postino posts edit`). Replay a failed post without `payload`, or create a new post."
)


def find_payload_objection(type: str, job_id: UUID) -> str | None:
    """Return why the payload of a job cannot be replaced; None if it can.

    The payload of a post is made from its content. Another payload would publish what content, search and audit trail
    do not show.
    """
    return KEEPS_PAYLOAD.format(job_id, job_id) if type == POST else None


def find_replay_objection(cause: DeadLetterCause, *, edited: bool, force: bool, is_post: bool = False) -> str | None:
    """Return why the replay is refused, for people; None if it is allowed."""
    if edited or force:
        return None
    advice = FORCE_POST if is_post else OR_FORCE
    match cause:
        case DeadLetterCause.PERMANENT:
            return f"The job was rejected. Fix the cause, such as a blocked account, or it fails again. {advice}"
        case DeadLetterCause.POISON:
            return f"The payload of the job cannot be read. {advice}"
        case DeadLetterCause.GIVEN_UP:
            return f"A person gave up on the job, because its post may be published. {advice}"
        case DeadLetterCause.EXHAUSTED | DeadLetterCause.WORKER_KILLER | DeadLetterCause.MISSED:
            return None
