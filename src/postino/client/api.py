"""All resources of the API, and the methods that belong to none of them."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from postino.client.accounts import Accounts
from postino.client.api_keys import ApiKeys
from postino.client.database import Database
from postino.client.endpoints import Resource, SessionT, call, paginate, stream
from postino.client.gates import Blackouts, Circuits, Gates
from postino.client.jobs import DeadLetters, Jobs, Uncertain
from postino.client.messages import ApiRequest, get, post
from postino.client.posts import Drafts, Imports, Posts
from postino.client.sandbox import Sandbox
from postino.client.types.accounts import BrandView, QuotaView
from postino.client.types.audit import AuditEntryView, VerifiedAuditView
from postino.client.types.auth import CallerView
from postino.client.types.calendar import CalendarView
from postino.client.types.events import EventView
from postino.client.types.forecast import ForecastView
from postino.client.types.gates import DispatchResultView, QueuesView
from postino.client.types.requests import Instant
from postino.client.types.schema import Page
from postino.client.types.stats import StatsView
from postino.client.types.workers import WorkersView
from postino.client.users import Users


class Api(Resource[SessionT]):
    """The Postino API. `Client` and `AsyncClient` are the two ways to use it."""

    def __init__(self, session: SessionT) -> None:
        super().__init__(session)
        self.posts = Posts(session)
        self.drafts = Drafts(session)
        self.imports = Imports(session)
        self.jobs = Jobs(session)
        self.dead_letters = DeadLetters(session)
        self.uncertain = Uncertain(session)
        self.accounts = Accounts(session)
        self.blackouts = Blackouts(session)
        self.circuits = Circuits(session)
        self.gates = Gates(session)
        self.database = Database(session)
        self.api_keys = ApiKeys(session)
        self.users = Users(session)
        self.sandbox = Sandbox(session)

    @call
    def calendar(
        self,
        from_day: str | date,
        to_day: str | date,
        *,
        timezone: str | None = None,
        brand: str | None = None,
        limit: int | None = None,
    ) -> ApiRequest[CalendarView]:
        """Return the local days from `from_day` to `to_day`, both included, with their posts."""
        days = {"from": from_day, "to": to_day}
        return get("calendar", **days, timezone=timezone, brand=brand, limit=limit)

    @call
    def queues(self) -> ApiRequest[QueuesView]:
        """Return the unfinished jobs of each queue, closed gates, caps and workers."""
        return get("queues")

    @call
    def dispatch_due(self) -> ApiRequest[DispatchResultView]:
        """Wake the workers for every due job, once."""
        return post("dispatch-due")

    @call
    def workers(self) -> ApiRequest[WorkersView]:
        """Return all workers in one page."""
        return get("workers")

    @call
    def brands(self) -> ApiRequest[Page[BrandView]]:
        """Return each brand with its number of accounts and of posts by status."""
        return get("brands")

    @paginate
    def quotas(
        self, *, account: str | None = None, network: str | None = None, limit: int | None = None
    ) -> ApiRequest[Page[QuotaView]]:
        """Iterate over the quotas of all accounts, with what is left of each."""
        return get("quotas", account=account, network=network, limit=limit)

    @call
    def stats(
        self, *, window: timedelta | None = None, network: str | None = None, brand: str | None = None
    ) -> ApiRequest[StatsView]:
        """Return publishing statistics of the last day, or of another `window`."""
        seconds = None if window is None else int(window.total_seconds())
        return get("stats", window=seconds, network=network, brand=brand)

    @paginate
    def audit(self, *, limit: int | None = None) -> ApiRequest[Page[AuditEntryView]]:
        """Iterate over the audit trail, newest entry first."""
        return get("audit", limit=limit)

    @call
    def verify_audit(self) -> ApiRequest[VerifiedAuditView]:
        """Verify the hashes of the audit trail: see `verified` and `first_broken_entry`."""
        return get("audit", limit=1, verify=True)

    @call
    def forecast(
        self,
        until: Instant,
        *,
        from_at: Instant | None = None,
        timezone: str | None = None,
        channel: str | None = None,
        brand: str | None = None,
        workers: int | None = None,
        seconds_per_job: float | None = None,
        picture: bool = False,
    ) -> ApiRequest[ForecastView]:
        """Return which jobs would run when, without queueing anything. `picture` adds an SVG image."""
        options: dict[str, Any] = {
            "from": from_at,
            "timezone": timezone,
            "workers": workers,
            "seconds_per_job": seconds_per_job,
            "picture": picture or None,
        }
        return post("forecast", until=until, channel=channel, brand=brand, **options)

    @call
    def me(self) -> ApiRequest[CallerView]:
        """Return the name, role and brands of the API key."""
        return get("me")

    @stream
    def events(self, *, types: tuple[str, ...] | None = None, after: str | None = None) -> ApiRequest[EventView]:
        """Yield events as they happen, from now on or `after` an event's id.

        A lost connection is opened again after the last event received. Events between the call and the first
        position that the server sends are missed if that very first connection is lost.
        """
        return get("events", types=types, after=after)
