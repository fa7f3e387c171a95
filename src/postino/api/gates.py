"""`/v1/gates`: pause and resume everything, a queue, a channel, a brand or an account, and end cooldowns."""

from typing import Annotated, Literal

from fastapi import Path
from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.models import Name, ReasonBody
from postino.api.routes import Routes
from postino.api.views.gates import render_gate
from postino.client.types import literals
from postino.client.types.gates import GateView
from postino.client.types.schema import Doc
from postino.stores.records import JobFilter
from postino.values.auth import Role
from postino.values.gate import Scope

routes = Routes("gates")
PausedScope = Annotated[literals.PausedScope, Path(description="What to pause or resume.")]
CooledScope = Annotated[Literal["channel", "account"], Path(description="What the cooldown applies to.")]


class GateBody(ReasonBody):
    """The name of the object, and the reason."""

    name: Annotated[Name, Doc("Name of the queue, channel, brand or account; empty for `all`.")] = ""


class CooldownBody(ReasonBody):
    """The name of the channel or account, and the reason."""

    name: Annotated[Name, Doc("Name of the channel or account.")] = ""


@routes.add("POST", "/v1/gates/{scope}/pause", role=Role.EDITOR, all_brands=True, responses={200: GateView})
async def pause_gate(scope: PausedScope, body: GateBody, context: Context) -> JSONResponse:
    """Pause gate.

    Workers start no more jobs of the paused object until you resume it. Running jobs continue.
    """
    app = context.app
    if scope == "channel":
        await app.gate_control.check_channel(body.name, app.config.channels)
    if scope == "account":
        known = {account.id for account in await app.store.accounts()}
        await app.gate_control.check_known("account", body.name, known, JobFilter(account=body.name, limit=1))
    gate = await app.gate_control.pause(Scope(scope), body.name, reason=body.reason, actor=context.caller.name)
    return JSONResponse(render_gate(gate))


@routes.add("POST", "/v1/gates/{scope}/resume", role=Role.EDITOR, all_brands=True, responses={200: GateView})
async def resume_gate(scope: PausedScope, body: GateBody, context: Context) -> JSONResponse:
    """Resume gate.

    Ends a pause and returns its gate. Workers start jobs of the object again.
    """
    gate_control = context.app.gate_control
    gate = await gate_control.resume(Scope(scope), body.name, reason=body.reason, actor=context.caller.name)
    return JSONResponse(render_gate(gate))


@routes.add("POST", "/v1/gates/{scope}/end-cooldown", role=Role.EDITOR, all_brands=True, responses={200: GateView})
async def end_cooldown(scope: CooledScope, body: CooldownBody, context: Context) -> JSONResponse:
    """End cooldown.

    Ends a cooldown early and returns its gate. The network may rate-limit the next request again.
    """
    gate_control = context.app.gate_control
    gate = await gate_control.end_cooldown(Scope(scope), body.name, reason=body.reason, actor=context.caller.name)
    return JSONResponse(render_gate(gate))
