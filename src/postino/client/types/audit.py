"""The audit trail."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from postino.client.types.schema import Doc, Timestamp


class AuditEntryView(TypedDict):
    """One action in the audit trail."""

    seq: Annotated[int, Doc("Number of the entry.")]
    at: Annotated[Timestamp, Doc("When it happened.")]
    actor: Annotated[str, Doc("Who did it.")]
    action: Annotated[str, Doc("What was done.")]
    subject: Annotated[str, Doc("Object of the action.")]
    reason: Annotated[str, Doc("Reason of the actor.")]
    detail: Annotated[str, Doc("Further details.")]
    hash: Annotated[str, Doc("Hash of this entry and the one before it.")]


class VerifiedAuditView(TypedDict):
    """A page of the audit trail with the result of its verification."""

    data: Annotated[list[AuditEntryView], Doc("The entries, newest first.")]
    next_cursor: Annotated[str | None, Doc("Pass it as `cursor` to get the next page; null on the last page.")]
    verified: Annotated[bool, Doc("True if no entry was changed or removed.")]
    broken_at: Annotated[int | None, Doc("Number of the first entry that does not match its hash.")]
