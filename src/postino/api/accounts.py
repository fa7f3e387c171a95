"""`/v1/accounts`: who can publish, without what it takes to speak for them."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from postino.publishing import shapes
from postino.wiring import Postino


def routes(app: Postino) -> APIRouter:
    router = APIRouter(tags=["accounts"])

    @router.get("/v1/accounts")
    async def accounts() -> JSONResponse:
        """All of them, the first one added first."""
        found = await app.store.accounts()
        return JSONResponse({"data": [shapes.of_account(account) for account in found], "next_cursor": None})

    return router
