"""`/v1/database`: whether Postino sends from its database, and what a person says about a restored or copied one."""

from typing import Annotated, Literal
from uuid import uuid4

from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.models import RequiredReasonBody
from postino.api.parsing import parse_time
from postino.api.routes import Routes
from postino.api.views.fields import render_fields
from postino.client.types.database import AcceptedDatabaseView, DatabaseView
from postino.client.types.schema import Doc
from postino.rules.restore import advise_answer
from postino.values.auth import Role
from postino.values.database import DatabaseAnswer, DatabaseState

routes = Routes("database")
SHOWN = ("standing", "cause", "reason", "since_at", "alive_at")


class AcceptDatabaseBody(RequiredReasonBody):
    """What the database is."""

    answer: Annotated[
        Literal["moved", "copy", "restored"],
        Doc(
            "`moved`: this is the only database, and nothing was lost. `copy`: another database publishes the posts."
            " `restored`: this database is from a backup, and the other one is off."
        ),
    ]
    at: Annotated[
        str | None,
        Doc(
            "With `restored`: the time of the backup; later changes are lost. ISO 8601 with an offset. Left out:"
            " `alive_at`."
        ),
    ] = None


@routes.add("GET", "/v1/database", role=Role.VIEWER, all_brands=True, responses={200: DatabaseView})
async def get_database(context: Context) -> JSONResponse:
    """Get database.

    Returns whether Postino sends from its database, and if not, why and what to do.
    """
    return JSONResponse(render_database(await context.app.store.database_state()))


@routes.add(
    "POST",
    "/v1/database/accept",
    role=Role.OWNER,
    all_brands=True,
    responses={200: AcceptedDatabaseView},
    errors={409: "The answer cannot be true, or Postino has not asked for it."},
)
async def accept_database(body: AcceptDatabaseBody, context: Context) -> JSONResponse:
    """Accept database.

    Records what a person says about the database. `moved` and `restored` open the database; `copy` closes it. After
    `restored`, Postino asks the network of each unsent post whether the post was published after `at`. If the network
    cannot tell, a post that is already due waits for a person.
    """
    lost_since_at = parse_time(body.at, None, "at", [])
    accepted = await context.app.store.accept_database(
        DatabaseAnswer(body.answer), lost_since_at, uuid4().hex, uuid4().hex, context.act(body.reason)
    )
    context.app.wakeup.notify()
    suspects = accepted.suspects
    listed = {"held": [str(job.id) for job in suspects.due], "later": [str(job.id) for job in suspects.early]}
    return JSONResponse(render_database(accepted.state) | listed)


def render_database(state: DatabaseState) -> DatabaseView:
    view: DatabaseView = render_fields(state, *SHOWN) | {
        "next": advise_answer(state),
        "troubles": list(state.troubles),
    }
    return view
