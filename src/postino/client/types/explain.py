"""Why a post or job has not run yet."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from postino.client.types.literals import BlockerKind
from postino.client.types.schema import Doc, Timestamp


class BlockerView(TypedDict):
    """One reason why a job does not run now."""

    kind: Annotated[BlockerKind, Doc("Kind of blocker.")]
    sentence: Annotated[str, Doc("The blocker in one sentence.")]
    since_at: Annotated[Timestamp | None, Doc("When the blocker began.")]
    until_at: Annotated[Timestamp | None, Doc("When the blocker ends; null if it does not end by itself.")]
    cause: Annotated[str | None, Doc("What caused the blocker.")]
    unblock: Annotated[str | None, Doc("What a person can do to remove the blocker.")]


class ExplanationView(TypedDict):
    """Why a post or job has not run, and when it will."""

    sentence: Annotated[str, Doc("The explanation in one sentence.")]
    runnable: Annotated[bool, Doc("True if nothing blocks the job.")]
    eta: Annotated[Timestamp | None, Doc("Expected start; null if it depends on a person or on other jobs.")]
    blockers: Annotated[list[BlockerView], Doc("Everything that blocks the job.")]
