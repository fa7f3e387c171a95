"""`/v1/sandbox`: forwards to the admin API of the simulated networks, for callers that reach only Postino."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any

from fastapi import Body, Path
from fastapi.responses import JSONResponse, Response
from pydantic import BeforeValidator

from postino.api.context import Context, RequestContext
from postino.api.query import NETWORK, Parameter, flag_parameter, parse_digits, parse_integer
from postino.api.routes import Link, Routes
from postino.client.types.sandbox import (
    FaultsView,
    FaultView,
    RemovedFaultsView,
    SandboxCallsView,
    SandboxEpochView,
    SandboxNetworksView,
    SandboxPostsView,
)
from postino.errors import NotFound, StoreUnreachable
from postino.values.auth import Role
from postino.values.provider import Http, LostResponse, NotSent
from postino.wiring import make_http_client_factory, no_objection

routes = Routes("sandbox")
NO_SANDBOX = "This Postino has no sandbox: the setting `sandbox.url` is empty. `postino up` starts one."
ERRORS = {404: "No sandbox is configured, or the sandbox has no such object."}
TIMEOUT = timedelta(seconds=10)
ALL_POSTS = flag_parameter("all", "Include posts from before the last reset.")
ALL_FAULTS = flag_parameter("all", "Include faults that no longer occur.")
AFTER: Parameter[int | None] = Parameter(
    "after",
    "Only posts with a higher number than this.",
    lambda text: parse_integer("after", text, 0, 2**63 - 1),
    None,
    {"type": "integer", "minimum": 0},
)
FAULT = "The fault: `network`, `fault`, `times` or `rate`, and optionally `endpoint`, `account` and `params`."


def parse_fault_id(text: str) -> int:
    if (number := parse_digits(text)) is None:
        raise ValueError("must be a whole number")
    return number


FaultId = Annotated[int, BeforeValidator(parse_fault_id), Path(description="Id of the fault.")]


@routes.add(
    "GET",
    "/v1/sandbox/published",
    role=Role.VIEWER,
    all_brands=True,
    query=(ALL_POSTS, AFTER, NETWORK),
    responses={200: SandboxPostsView},
    errors=ERRORS,
)
async def list_sandbox_posts(context: Context) -> Response:
    """List sandbox posts.

    Returns the posts that the simulated networks have published, in order.
    """
    return await forward(context, "published")


@routes.add(
    "GET",
    "/v1/sandbox/networks",
    role=Role.VIEWER,
    all_brands=True,
    responses={200: SandboxNetworksView},
    errors=ERRORS,
)
async def list_sandbox_networks(context: Context) -> Response:
    """List sandbox networks.

    Returns the simulated networks with their endpoints, and the faults that the sandbox can inject.
    """
    return await forward(context, "networks")


@routes.add(
    "GET",
    "/v1/sandbox/calls",
    role=Role.VIEWER,
    all_brands=True,
    responses={200: SandboxCallsView},
    errors=ERRORS,
)
async def list_sandbox_calls(context: Context) -> Response:
    """List sandbox calls.

    Returns the number of requests to the simulated networks, and the highest number of concurrent requests.
    """
    return await forward(context, "calls")


@routes.add(
    "GET",
    "/v1/sandbox/faults",
    role=Role.VIEWER,
    all_brands=True,
    query=(ALL_FAULTS,),
    responses={200: FaultsView},
    errors=ERRORS,
)
async def list_faults(context: Context) -> Response:
    """List faults.

    Returns the faults that the sandbox injects. With `all=true`, returns also faults that no longer occur.
    """
    return await forward(context, "faults")


@routes.add(
    "POST",
    "/v1/sandbox/faults",
    role=Role.EDITOR,
    all_brands=True,
    responses={201: FaultView},
    errors=ERRORS,
    links=(Link(201, "/v1/sandbox/faults/{fault_id}", "/id"),),
)
async def create_fault(body: Annotated[dict[str, Any], Body(description=FAULT)], context: Context) -> Response:
    """Create fault.

    Makes a simulated network fail: a number of times, or at a rate.
    """
    return await forward(context, "faults", body)


@routes.add(
    "DELETE",
    "/v1/sandbox/faults",
    role=Role.EDITOR,
    all_brands=True,
    query=(NETWORK,),
    responses={200: RemovedFaultsView},
    errors=ERRORS,
)
async def delete_faults(context: Context) -> Response:
    """Delete faults.

    Removes all faults, or those of one network.
    """
    return await forward(context, "faults")


@routes.add(
    "DELETE",
    "/v1/sandbox/faults/{fault_id}",
    role=Role.EDITOR,
    all_brands=True,
    responses={200: RemovedFaultsView},
    errors=ERRORS,
)
async def delete_fault(fault_id: FaultId, context: Context) -> Response:
    """Delete fault.

    Removes one fault.
    """
    return await forward(context, f"faults/{fault_id}")


@routes.add(
    "POST",
    "/v1/sandbox/reset",
    role=Role.OWNER,
    all_brands=True,
    responses={200: SandboxEpochView},
    errors=ERRORS,
)
async def reset_sandbox(context: Context) -> Response:
    """Reset sandbox.

    Starts a new epoch: the simulated networks begin again, without posts and faults.
    """
    return await forward(context, "reset", {})


async def forward(context: RequestContext, path: str, body: Mapping[str, Any] | None = None) -> Response:
    config, request = context.app.config, context.request
    if not config.sandbox.url:
        raise NotFound(NO_SANDBOX)
    url = f"{config.sandbox.url.rstrip('/')}/_sandbox/{path}"
    async with make_http_client_factory(config)() as client:
        http: Http = client.open(timeout=TIMEOUT, may_send=no_objection, visible=False, secrets=(), public=False)
        try:
            response = await http.request(request.method, url, params=dict(request.query_params), json=body)
        except (NotSent, LostResponse) as error:
            raise StoreUnreachable(f"The sandbox does not respond. {error}") from error
    if not response.ok:
        return JSONResponse(response.json(), response.status, media_type="application/problem+json")
    return JSONResponse(response.json(), response.status)
