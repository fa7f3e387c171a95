"""Everything a server can be asked: its rooms, and what is about the whole house."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from postino.client.endpoints import Resource, SessionT, call, paginate, stream
from postino.client.gates import Accounts, Blackouts, Circuits, Gates
from postino.client.house_shapes import Audit, AuditLine, Brand, Calendar, Dispatched, Queues, Quota, Stats, Worker
from postino.client.job_shapes import Event
from postino.client.jobs import DeadLetters, Jobs, Uncertain
from postino.client.messages import ApiRequest, get, post
from postino.client.people import ApiKeys, Users
from postino.client.people_shapes import Me
from postino.client.posts import Drafts, Imports, Posts
from postino.client.sandbox import Sandbox
from postino.client.simulation_shapes import Simulated
from postino.client.wishes import Instant
from postino.client.words import Page


class Api(Resource[SessionT]):
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
    ) -> ApiRequest[Calendar]:
        """Local days with their posts; both days are included."""
        days = {"from": from_day, "to": to_day}
        return get("calendar", **days, timezone=timezone, brand=brand, limit=limit)

    @call
    def queues(self) -> ApiRequest[Queues]:
        """How much waits and runs where, what is closed, and who works."""
        return get("queues")

    @call
    def dispatch_due(self) -> ApiRequest[Dispatched]:
        """Tells the workers of every due job, once."""
        return post("dispatch-due")

    @call
    def workers(self) -> ApiRequest[Page[Worker]]:
        """Who does the work, in one page."""
        return get("workers")

    @call
    def brands(self) -> ApiRequest[Page[Brand]]:
        """Each brand with its accounts and its posts by status."""
        return get("brands")

    @paginate
    def quotas(
        self, *, account: str | None = None, network: str | None = None, limit: int | None = None
    ) -> ApiRequest[Page[Quota]]:
        """How much is left of what each account's network takes, one after the other."""
        return get("quotas", account=account, network=network, limit=limit)

    @call
    def stats(
        self, *, window: timedelta | None = None, network: str | None = None, brand: str | None = None
    ) -> ApiRequest[Stats]:
        """How posts went lately: in the last day, or another `window`."""
        seconds = None if window is None else int(window.total_seconds())
        return get("stats", window=seconds, network=network, brand=brand)

    @paginate
    def audit(self, *, limit: int | None = None) -> ApiRequest[Page[AuditLine]]:
        """What everybody did, the newest first."""
        return get("audit", limit=limit)

    @call
    def verify_audit(self) -> ApiRequest[Audit]:
        """Whether any line of it was tampered with: `verified`, and `broken_at`."""
        return get("audit", limit=1, verify=True)

    @call
    def simulate(
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
    ) -> ApiRequest[Simulated]:
        """What would run when; nothing is queued. With `picture` also drawn, as SVG."""
        how: dict[str, Any] = {
            "from": from_at,
            "timezone": timezone,
            "workers": workers,
            "seconds_per_job": seconds_per_job,
            "picture": picture or None,
        }
        return post("simulate", until=until, channel=channel, brand=brand, **how)

    @call
    def me(self) -> ApiRequest[Me]:
        """Whose key this is."""
        return get("me")

    @stream
    def events(self, *, types: tuple[str, ...] | None = None, after: str | None = None) -> ApiRequest[Event]:
        """What happens, as it happens, from now on or `after` an event's id. A connection that is lost is made again
        where it ended; before the first event there is no such place, and what happens meanwhile is missed.
        """
        return get("events", types=types, after=after)
