"""What the database is, and whether Postino sends from it."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import TypedDict

from postino.client.types.literals import DatabaseStanding
from postino.client.types.schema import Doc, Timestamp


class DatabaseView(TypedDict):
    """Whether Postino sends from this database, and if not, why and what to do."""

    standing: Annotated[
        DatabaseStanding,
        Doc(
            "`open`: workers send. `roll_call`: workers compare the database with what they sent. `asked`: a person"
            " must say what the database is. `copy`: another database publishes these posts."
        ),
    ]
    cause: Annotated[
        Literal["stranger", "place", "loss"] | None,
        Doc(
            "Why Postino asks a person. `stranger`: no worker knows the database. `place`: the database is in another"
            " place. `loss`: the database lacks posts that workers have sent."
        ),
    ]
    reason: Annotated[str | None, Doc("The cause in one sentence.")]
    since_at: Annotated[Timestamp | None, Doc("When workers stopped sending.")]
    alive_at: Annotated[Timestamp | None, Doc("When a worker last recorded that it used the database.")]
    next: Annotated[str | None, Doc("What to do.")]
    troubles: Annotated[
        list[str],
        Doc(
            "Errors of workers that cannot use all files in their state directory. They continue to send, but may not"
            " detect a restored backup."
        ),
    ]


class AcceptedDatabaseView(DatabaseView):
    """The database after an answer."""

    held: Annotated[
        list[str],
        Doc(
            "Ids of due posts that may have been published. Postino asks their networks before it sends them. If a"
            " network cannot tell, the post waits for a person."
        ),
    ]
    later: Annotated[
        list[str],
        Doc(
            "Ids of posts that are not due yet. Postino publishes them at their time, unless their network already has"
            " them. Check them: cancellations and edits after the backup are lost."
        ),
    ]
