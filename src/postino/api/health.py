"""Signs of life, for whoever watches: no key needed, nothing private told."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from postino.wiring import Postino


def routes(app: Postino) -> APIRouter:
    router = APIRouter(prefix="/health", tags=["health"])

    @router.get("/live")
    async def live() -> JSONResponse:
        """The process answers."""
        return JSONResponse({"status": "live"})

    @router.get("/ready")
    async def ready() -> JSONResponse:
        """The database answers too."""
        await app.open()
        await app.store.gates()
        return JSONResponse({"status": "ready"})

    return router
