"""`/v1/users/{user_id}/link`: an address that signs a browser in, once, within ten minutes."""

from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from postino.api.api_keys import NEVER_KEPT
from postino.api.caller import caller_of
from postino.api.models import DeedBody
from postino.engine.actions import make_audit_context
from postino.wiring import Postino


def routes(app: Postino) -> APIRouter:
    router = APIRouter(tags=["people"])

    @router.post("/v1/users/{user_id}/link")
    async def make_link(request: Request, user_id: UUID, body: DeedBody | None = None) -> JSONResponse:
        """Signs them in where it is opened: `path`, at the address of this server."""
        user = await app.store.user(user_id)
        token = await app.sign_in.create_link(
            user_id, make_audit_context(caller_of(request).name, body.reason if body else "")
        )
        return JSONResponse({"name": user.name, "path": f"/sign-in?token={token}"}, headers=NEVER_KEPT)

    return router
