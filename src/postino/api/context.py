"""What every endpoint gets: the application, the caller and the parsed query of its request."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

from postino.api.beside_loop import BesideLoop
from postino.api.caller import Caller
from postino.api.concurrency_limits import ConcurrencyLimits
from postino.api.event_stream import EventStream
from postino.api.query import QueryValues
from postino.api.shared_call import SharedCall
from postino.engine.actions import make_audit_context
from postino.publishing.imports import Importer
from postino.stores.records import AuditContext
from postino.wiring import Postino

MAX_IMPORTS = 4  # of a caller or a brand at once


class Services:
    """What requests of one server share, beside the application."""

    def __init__(self, app: Postino) -> None:
        self.events = EventStream(app.store)
        self.streams = ConcurrencyLimits(app.config.api.streams)
        self.imports = ConcurrencyLimits(MAX_IMPORTS)
        self.importer = Importer(app.store, app.post_validator)
        self.beside_loop = BesideLoop()
        self.readiness = SharedCall[dict[str, Any]]()
        self.forecast_lock = asyncio.Lock()


@dataclass(frozen=True, slots=True)
class RequestContext:
    """`is_still_valid` tells whether the caller would be authenticated again, for requests that last long."""

    request: Request
    app: Postino
    services: Services
    caller: Caller
    query: QueryValues
    is_still_valid: Callable[[], Awaitable[bool]]

    def act(self, reason: str | None = None) -> AuditContext:
        """Return who acts and why, for the audit trail."""
        return make_audit_context(self.caller.name, reason or "")


async def get_context(request: Request) -> RequestContext:
    context: RequestContext = request.state.context
    return context


Context = Annotated[RequestContext, Depends(get_context)]
