"""`/v1/queues`, `/v1/channels` and `/v1/dispatch-due`: what waits and runs, and how many jobs run at once."""

from typing import Annotated

from fastapi import Path
from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.models import ReasonBody
from postino.api.routes import Routes
from postino.api.views.fields import render_fields
from postino.api.views.gates import render_gate
from postino.client.types.gates import ChannelCapView, DispatchResultView, QueuesView
from postino.client.types.schema import Doc
from postino.values.auth import Role

routes = Routes("queues")


class CapBody(ReasonBody):
    """How many jobs of a channel may run at once."""

    cap: Annotated[
        int | None, Doc("Maximum number of running jobs, across all workers. Null restores the cap from the settings.")
    ]


@routes.add("GET", "/v1/queues", role=Role.VIEWER, all_brands=True, responses={200: QueuesView})
async def list_queues(context: Context) -> JSONResponse:
    """List queues.

    Returns the number of pending, running and uncertain jobs by channel and queue, with all closed gates, caps and
    workers.
    """
    overview = await context.app.gate_control.queues()
    return JSONResponse(
        {
            "data": [render_fields(line) for line in overview.lines],
            "next_cursor": None,
            "gates": [render_gate(gate) for gate in overview.closed.gates],
            "caps": dict(overview.closed.caps),
            "workers": [render_fields(worker) for worker in overview.workers],
        }
    )


@routes.add("POST", "/v1/channels/{channel}/cap", role=Role.EDITOR, all_brands=True, responses={200: ChannelCapView})
async def set_channel_cap(
    channel: Annotated[str, Path(description="Name of the channel, such as `mastodon`.")],
    body: CapBody,
    context: Context,
) -> JSONResponse:
    """Set channel cap.

    Limits how many jobs of a channel run at once, across all workers. Null restores the cap from the settings.
    """
    app = context.app
    await app.gate_control.check_channel(channel, app.config.channels)
    cap = await app.cap(channel, body.cap, reason=body.reason, actor=context.caller.name)
    return JSONResponse({"channel": channel, "cap": cap})


@routes.add("POST", "/v1/dispatch-due", role=Role.EDITOR, all_brands=True, responses={200: DispatchResultView})
async def dispatch_due_jobs(context: Context) -> JSONResponse:
    """Dispatch due jobs.

    Wakes the workers for every due job, once, and stores the time as `dispatched_at`. Workers find due jobs without
    this request. Use it with schedulers such as cron.
    """
    return JSONResponse({"dispatched": await context.app.dispatch_due()})
