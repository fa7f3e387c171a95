"""`/v1/circuits`: circuit breakers, one per service. An open circuit sends no requests to its service."""

from typing import Annotated

from fastapi import Path
from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.models import RequiredReasonBody
from postino.api.parsing import parse_time
from postino.api.routes import Routes
from postino.api.views.gates import render_circuit
from postino.client.types.gates import CircuitView
from postino.client.types.schema import Doc, Page
from postino.values.auth import Role

routes = Routes("circuits")
Service = Annotated[
    str, Path(description="Name of the service, such as `mastodon@example.social`, or of a whole network: `mastodon`.")
]


class OpenCircuitBody(RequiredReasonBody):
    """How long the circuit stays open. Without `until` and `seconds` it stays open until somebody closes it."""

    until: Annotated[
        str | None, Doc("When the circuit becomes half-open: ISO 8601 with an offset, or local to `timezone`.")
    ] = None
    timezone: Annotated[str | None, Doc("IANA time zone of times without an offset, such as `Europe/Rome`.")] = None
    seconds: Annotated[float | None, Doc("How many seconds the circuit stays open.")] = None


@routes.add("GET", "/v1/circuits", role=Role.VIEWER, all_brands=True, responses={200: Page[CircuitView]})
async def list_circuits(context: Context) -> JSONResponse:
    """List circuits.

    Returns the circuit breaker of every service that has failed or whose circuit a person opened.
    """
    circuits = await context.app.gate_control.circuits()
    return JSONResponse({"data": [render_circuit(breaker) for breaker in circuits], "next_cursor": None})


@routes.add("POST", "/v1/circuits/{service}/open", role=Role.EDITOR, all_brands=True, responses={200: CircuitView})
async def open_circuit(service: Service, body: OpenCircuitBody, context: Context) -> JSONResponse:
    """Open circuit.

    Stops all requests to a service: until a given time, for a number of seconds, or until somebody closes the circuit.
    """
    breaker = await context.app.gate_control.open_circuit(
        service,
        until_at=parse_time(body.until, body.timezone, "until", []),
        seconds=body.seconds,
        reason=body.reason,
        actor=context.caller.name,
    )
    return JSONResponse(render_circuit(breaker))


@routes.add("POST", "/v1/circuits/{service}/close", role=Role.EDITOR, all_brands=True, responses={200: CircuitView})
async def close_circuit(service: Service, body: RequiredReasonBody, context: Context) -> JSONResponse:
    """Close circuit.

    Allows requests to a service again.
    """
    action = context.app.gate_control.close_circuit(service, reason=body.reason, actor=context.caller.name)
    return JSONResponse(render_circuit(await action))


@routes.add("POST", "/v1/circuits/{service}/reset", role=Role.EDITOR, all_brands=True, responses={200: CircuitView})
async def reset_circuit(service: Service, body: RequiredReasonBody, context: Context) -> JSONResponse:
    """Reset circuit.

    Allows requests to a service again and deletes the history of its failures.
    """
    action = context.app.gate_control.reset_circuit(service, reason=body.reason, actor=context.caller.name)
    return JSONResponse(render_circuit(await action))
