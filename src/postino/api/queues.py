"""`/v1/gates`, `/v1/channels` and `/v1/dispatch-due`: a person's word about what may start, and how much at once."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import Field

from postino.api.caller import caller_of
from postino.api.models import DeedBody
from postino.api.views.fields import render_fields
from postino.rules.gates import describe_closed_gate
from postino.stores.records import JobFilter
from postino.values.gate import Gate, Scope
from postino.wiring import Postino

Place = Literal["all", "queue", "channel", "brand", "account"]
Cooled = Literal["channel", "account"]
Name = Annotated[str, Field(max_length=500)]


class GateBody(DeedBody):
    """Which one of its kind, and why; of everything there is one only."""

    name: Name = ""


class CapBody(DeedBody):
    """How many at most; null: as many as usual."""

    most: int | None


def routes(app: Postino) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["gates"])
    gate_control = app.gate_control

    @router.post("/gates/{scope}/pause")
    async def pause(request: Request, scope: Place, body: GateBody) -> JSONResponse:
        """Lets nothing of it start until it is resumed; what runs goes on to its end."""
        if scope == "channel":
            await gate_control.check_channel(body.name, app.config.channels)
        if scope == "account":
            known = {account.id for account in await app.store.accounts()}
            await gate_control.check_known("account", body.name, known, JobFilter(account=body.name, limit=1))
        return told(await gate_control.pause(Scope(scope), body.name, **by(request, body)))

    @router.post("/gates/{scope}/resume")
    async def resume(request: Request, scope: Place, body: GateBody) -> JSONResponse:
        """Lets it start again: the gate that was closed."""
        return told(await gate_control.resume(Scope(scope), body.name, **by(request, body)))

    @router.post("/gates/{scope}/warm")
    async def warm(request: Request, scope: Cooled, body: GateBody) -> JSONResponse:
        """Ends a cool-down before its time: the network asked for it, and may ask again."""
        return told(await gate_control.end_cooldown(Scope(scope), body.name, **by(request, body)))

    @router.post("/channels/{channel}/cap")
    async def cap(request: Request, channel: str, body: CapBody) -> JSONResponse:
        """Lets at most so many of its jobs run at once, over all workers; null: as many as the settings say."""
        await gate_control.check_channel(channel, app.config.channels)
        return JSONResponse({"channel": channel, "cap": await app.cap(channel, body.most, **by(request, body))})

    @router.post("/dispatch-due")
    async def dispatch_due() -> JSONResponse:
        """Marks every due job dispatched and wakes the workers, once."""
        return JSONResponse({"dispatched": await app.dispatch_due()})

    return router


def by(request: Request, body: DeedBody) -> dict[str, Any]:
    return {"reason": body.reason, "actor": caller_of(request).name}


def told(gate: Gate) -> JSONResponse:
    return JSONResponse(render_fields(gate) | {"sentence": describe_closed_gate(gate)})
