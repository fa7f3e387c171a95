"""The audit trail."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from postino.client.types.schema import Doc, Timestamp


class AuditEntryView(TypedDict):
    """One action in the audit trail."""

    seq: Annotated[int, Doc("Number of the entry.")]
    at: Annotated[Timestamp, Doc("When the action happened.")]
    actor: Annotated[str, Doc("Name of the user, API key or program that acted.")]
    action: Annotated[str, Doc("Name of the action, such as `job.resolved`.")]
    subject: Annotated[str, Doc("What the action changed, such as `account:mastodon:acme`.")]
    reason: Annotated[str, Doc("Reason of the actor.")]
    detail: Annotated[str, Doc("Further details.")]
    hash: Annotated[str, Doc("SHA-256 of this entry and of the hash of the entry before it.")]
    proof: Annotated[
        str | None,
        Doc(
            "Id of a vault key, and HMAC-SHA-256 of `hash` under a key derived from it. Null: written without the key."
        ),
    ]


class AuditAnchor(TypedDict):
    """The last entry that the server's machine remembers, outside the database."""

    seq: Annotated[int, Doc("Number of the entry.")]
    hash: Annotated[str, Doc("Hash of the entry.")]


class VerifiedAuditView(TypedDict):
    """A page of the audit trail, with the result of the verification of the whole trail."""

    data: Annotated[list[AuditEntryView], Doc("The entries, newest first.")]
    next_cursor: Annotated[str | None, Doc("Pass it as `cursor` to get the next page; null on the last page.")]
    verified: Annotated[bool, Doc("True if the trail is complete and unchanged.")]
    first_broken_entry: Annotated[int | None, Doc("Number of the first entry that is wrong; null if none is.")]
    problem: Annotated[str | None, Doc("What is wrong; null if nothing is.")]
    entries: Annotated[int, Doc("Number of the last entry that was checked and is right.")]
    head: Annotated[
        str | None, Doc("Hash of this entry, which covers all before it. Compare it with one noted before.")
    ]
    unproven_entries: Annotated[int, Doc("Entries before the first proof: written before a process had the vault key.")]
    anchor: Annotated[AuditAnchor | None, Doc("The last entry that the server's machine remembers; null: none.")]
