"""`/v1/users/{user_id}/link`: a link that signs a browser in, once, within ten minutes."""

from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.models import ReasonBody
from postino.api.routes import Routes
from postino.api.users import UserId
from postino.client.types.auth import SignInLinkView
from postino.values.auth import Role

routes = Routes("users")


@routes.add("POST", "/v1/users/{user_id}/link", role=Role.OWNER, all_brands=True, responses={200: SignInLinkView})
async def create_sign_in_link(user_id: UserId, context: Context, body: ReasonBody | None = None) -> JSONResponse:
    """Create sign-in link.

    Returns a path on this server. A browser that opens the path is signed in as the user. The link works once, within
    ten minutes.
    """
    user = await context.app.store.user(user_id)
    token = await context.app.sign_in.create_link(user_id, context.act(body.reason if body else ""))
    return JSONResponse({"name": user.name, "path": f"/sign-in?token={token}"})
