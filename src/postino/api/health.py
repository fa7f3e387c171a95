"""Health checks for load balancers and monitoring. They need no authentication and reveal nothing private."""

from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.routes import Routes
from postino.client.types.workers import HealthView

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

    Returns 200 if the database responds too, else 503.
    """
    await context.app.store.gates()
    return JSONResponse({"status": "ready"})
