"""Log requests with a wrong API key, and requests that a caller may not send. No line contains a secret."""

from fastapi import Request

from postino.api.caller import CALLER, Caller
from postino.auth.api_keys import read_prefix
from postino.auth.refusal_log import REQUEST_REFUSED, RefusalLog
from postino.values.text import MAX_QUOTED


def log_refusal(request: Request, status: int, detail: str) -> None:
    """Log a 403, or a 401 for an API key. Requests without a key are not logged: they do not guess keys."""
    header = request.headers.get("authorization")
    refusals: RefusalLog | None = getattr(request.app.state, "refusals", None)
    if refusals is None or status not in (401, 403) or (status == 401 and header is None):
        return
    caller: Caller | None = request.scope.get(CALLER)
    route = request.scope.get("route")
    refusals.warn(
        REQUEST_REFUSED,
        "" if request.client is None else request.client.host,
        status=status,
        method=request.method,
        route=request.scope["path"][:MAX_QUOTED] if route is None else route.path,
        caller=None if caller is None else caller.name,
        key=None if header is None or caller is not None else read_prefix(header.partition(" ")[2].strip()),
        reason=detail,
    )
