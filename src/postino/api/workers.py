"""`/v1/workers`: the registered worker processes."""

from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.routes import Routes
from postino.api.views.fields import render_fields
from postino.client.types.workers import WorkersView
from postino.engine.explain import filter_living_workers
from postino.values.auth import Role

routes = Routes("workers")


@routes.add("GET", "/v1/workers", role=Role.VIEWER, all_brands=True, responses={200: WorkersView})
async def list_workers(context: Context) -> JSONResponse:
    """List workers.

    Returns each worker with the number of jobs that it runs. The `heartbeats` of a running worker increase.
    `types_without_handler` has the types of waiting jobs that no running worker handles.
    """
    store = context.app.store
    workers = await store.workers()
    living = {worker.id: worker for worker in filter_living_workers(workers)}
    unhandled = await store.waiting_types({type_ for worker in living.values() for type_ in worker.types})
    running = await store.jobs_by_worker()
    data = [render_fields(one) | {"running": running.get(one.id, 0), "alive": one.id in living} for one in workers]
    return JSONResponse({"data": data, "next_cursor": None, "types_without_handler": unhandled})
