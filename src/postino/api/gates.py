"""`/v1/blackouts`, `/v1/circuits` and `/v1/queues`: what may run now, why not, and a person's word about it."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from postino.api.caller import caller_of
from postino.api.models import BlackoutBody, NeededReason, OpenBody
from postino.api.parsing import instant
from postino.api.problems import nearest
from postino.api.query import query_of
from postino.api.views.fields import render_fields
from postino.engine.gate_control import BlackoutPreview
from postino.errors import WrongUse
from postino.rules.blackout import Blackout, describe_blackout, render_blackout
from postino.rules.circuit_breaker import Breaker
from postino.rules.gates import describe_closed_gate
from postino.wiring import Postino


def routes(app: Postino) -> APIRouter:
    router = APIRouter(tags=["gates"])
    gate_control = app.gate_control

    @router.get("/v1/blackouts")
    async def blackouts() -> JSONResponse:
        """All of them."""
        return listed([of_blackout(blackout) for blackout in await gate_control.blackouts()])

    @router.post("/v1/blackouts", status_code=201)
    async def add(request: Request, body: BlackoutBody) -> JSONResponse:
        """Publishes nothing in its windows from now on: 201. With `preview=true` 200: what it would move, unsaved."""
        preview = flag_of(query_of(request, "preview"), "preview")
        blackout = await gate_control.draft_blackout(body.model_dump(exclude_none=True))
        shifts = of_shifts(await gate_control.preview_blackout(blackout))
        if not preview:
            await gate_control.save_blackout(blackout, actor=caller_of(request).name)
        return JSONResponse(of_blackout(blackout) | shifts | {"preview": preview}, 200 if preview else 201)

    @router.delete("/v1/blackouts/{blackout_id}")
    async def remove(request: Request, blackout_id: UUID) -> JSONResponse:
        """The one that was removed; `reason` goes into the audit trail."""
        reason = query_of(request, "reason").get("reason", "")
        actor = caller_of(request).name
        return JSONResponse(of_blackout(await gate_control.remove_blackout(blackout_id, reason=reason, actor=actor)))

    @router.get("/v1/circuits")
    async def circuits() -> JSONResponse:
        """Every service that was ever in trouble, as it is now."""
        return listed([of_breaker(breaker) for breaker in await gate_control.circuits()])

    @router.post("/v1/circuits/{service}/open")
    async def open_circuit(request: Request, service: str, body: OpenBody) -> JSONResponse:
        """Leaves it alone: `until` then, for so many `seconds` or, with neither, until somebody closes it."""
        until_at = instant(body.until, body.timezone, "until", [])
        opened = await gate_control.open_circuit(
            service, until_at=until_at, seconds=body.seconds, reason=body.reason, actor=caller_of(request).name
        )
        return JSONResponse(of_breaker(opened))

    @router.post("/v1/circuits/{service}/close")
    async def close_circuit(request: Request, service: str, body: NeededReason) -> JSONResponse:
        """Asks it again at once."""
        done = gate_control.close_circuit(service, reason=body.reason, actor=caller_of(request).name)
        return JSONResponse(of_breaker(await done))

    @router.post("/v1/circuits/{service}/reset")
    async def reset_circuit(request: Request, service: str, body: NeededReason) -> JSONResponse:
        """Asks it again, as if it had never been in trouble."""
        done = gate_control.reset_circuit(service, reason=body.reason, actor=caller_of(request).name)
        return JSONResponse(of_breaker(await done))

    @router.get("/v1/queues")
    async def queues() -> JSONResponse:
        """How much waits and runs where, every closed gate with its reason, caps, and who works."""
        found = await gate_control.queues()
        return listed(
            [render_fields(line) for line in found.lines],
            gates=[render_fields(gate) | {"sentence": describe_closed_gate(gate)} for gate in found.closed.gates],
            caps=dict(found.closed.caps),
            workers=[render_fields(worker) for worker in found.workers],
        )

    return router


def listed(data: Sequence[dict[str, Any]], **more: Any) -> JSONResponse:
    return JSONResponse({"data": data, "next_cursor": None, **more})


def flag_of(query: dict[str, str], name: str) -> bool:
    text = query.get(name, "false")
    if text not in ("true", "false"):
        raise WrongUse(f"{name} must be true or false, not {text[:40]!r}.{nearest(text, ['true', 'false'])}", name)
    return text == "true"


def of_blackout(blackout: Blackout) -> dict[str, Any]:
    return render_blackout(blackout) | {"sentence": describe_blackout(blackout)}


def of_shifts(shifts: BlackoutPreview) -> dict[str, Any]:
    return {"shifts": [render_fields(it) for it in shifts.first], "more": shifts.more, "unlooked": shifts.unlooked}


def of_breaker(breaker: Breaker) -> dict[str, Any]:
    return render_fields(breaker) | {"failures": len(breaker.failures)}
