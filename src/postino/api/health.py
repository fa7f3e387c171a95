"""Health checks for load balancers and monitoring. They need no authentication and reveal nothing private."""

from functools import partial
from typing import Any

from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.routes import Routes
from postino.api.views.fields import to_json
from postino.client.types.workers import HealthView
from postino.engine.explain import filter_living_workers
from postino.wiring import Postino

routes = Routes("health")


@routes.add("GET", "/health/live", role=None, needs_store=False, responses={200: HealthView})
async def check_liveness(context: Context) -> JSONResponse:
    """Check liveness.

    Returns 200 while the process responds to requests.
    """
    return JSONResponse({"status": "live"})


@routes.add("GET", "/health/ready", role=None, responses={200: HealthView})
async def check_readiness(context: Context) -> JSONResponse:
    """Check readiness.

    Returns 200 if the database responds too, else 503. `database` says whether workers send posts from this
    database. While an open transaction delays events, `events_delayed_since` is the start of that transaction.
    `workers_without_state_directory` counts workers that cannot use all files in their state directory,
    `workers_that_cannot_claim` counts workers that have not been able to claim jobs for 30 seconds, and
    `job_types_without_handler` counts the types of waiting jobs that no running worker handles.
    """
    return JSONResponse(await context.services.readiness.join(partial(read_state, context.app)))


async def read_state(app: Postino) -> dict[str, Any]:
    """Return whether the database responds, and what is wrong with the workers. Strangers can ask at any rate."""
    state = await app.store.database_state()
    delay = await app.store.event_delay(app.config.database.transaction_warning)
    delayed = {} if delay is None else {"events_delayed_since": to_json(delay.since_at)}
    workers = [*filter_living_workers(await app.store.workers())]
    idle = sum(worker.trouble is not None for worker in workers)
    unhandled = await app.store.waiting_types({type_ for worker in workers for type_ in worker.types})
    without = {"job_types_without_handler": len(unhandled)} if unhandled else {}
    idle_workers = {"workers_that_cannot_claim": idle} if idle else {}
    forgetful = {"workers_without_state_directory": len(state.troubles)} if state.troubles else {}
    return {
        "status": "ready",
        "database": to_json(state.standing),
        **delayed,
        **forgetful,
        **idle_workers,
        **without,
    }
