"""`/v1/sandbox`: the simulated networks' admin door, for callers that reach Postino only."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from postino.errors import NotFound, StoreUnreachable
from postino.values.provider import Http, NoResponse, NotSent
from postino.wiring import Postino, http_client_factory, no_objection

NO_SANDBOX = "No sandbox runs beside this Postino: `sandbox.url` is not set. `postino up` starts one."
PATIENCE = timedelta(seconds=10)


def routes(app: Postino) -> APIRouter:
    router = APIRouter(prefix="/v1/sandbox", tags=["sandbox"])

    @router.get("/published")
    async def list_published(request: Request) -> Response:
        """The networks' own record of what is out."""
        return await passed_on(app, request, "published")

    @router.get("/networks")
    async def list_simulated(request: Request) -> Response:
        """The simulated networks, their endpoints and the faults there are."""
        return await passed_on(app, request, "networks")

    @router.get("/calls")
    async def list_calls(request: Request) -> Response:
        """How many calls came in, and how many at once."""
        return await passed_on(app, request, "calls")

    @router.get("/faults")
    async def list_faults(request: Request) -> Response:
        """What shall go wrong."""
        return await passed_on(app, request, "faults")

    @router.post("/faults", status_code=201)
    async def add_fault(request: Request, body: dict[str, Any]) -> Response:
        """Lets something go wrong: `network`, `endpoint`, `fault`, `times` or `rate`, `params`."""
        return await passed_on(app, request, "faults", body)

    @router.delete("/faults")
    async def remove_faults(request: Request) -> Response:
        """Nothing shall go wrong any more."""
        return await passed_on(app, request, "faults")

    @router.delete("/faults/{fault_id}")
    async def remove_fault(request: Request, fault_id: int) -> Response:
        """One of them not."""
        return await passed_on(app, request, f"faults/{fault_id}")

    @router.post("/reset")
    async def reset_sandbox(request: Request) -> Response:
        """Begins anew, as if nothing had been published."""
        return await passed_on(app, request, "reset", {})

    return router


async def passed_on(app: Postino, request: Request, path: str, body: Mapping[str, Any] | None = None) -> Response:
    if not app.config.sandbox.url:
        raise NotFound(NO_SANDBOX)
    address = f"{app.config.sandbox.url.rstrip('/')}/_sandbox/{path}"
    async with http_client_factory(app.config)() as door:
        http: Http = door.open(timeout=PATIENCE, may_send=no_objection, visible=False, secrets=(), public=False)
        try:
            answer = await http.request(request.method, address, params=dict(request.query_params), json=body)
        except (NotSent, NoResponse) as error:
            raise StoreUnreachable(f"The sandbox does not answer. {error}") from error
    if not answer.ok:
        return JSONResponse(answer.json(), answer.status, media_type="application/problem+json")
    return JSONResponse(answer.json(), answer.status)
