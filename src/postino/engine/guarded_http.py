"""The HTTP client of a job's calls: it asks the circuit before each request and reports each response to it."""

from collections.abc import Callable, Mapping
from typing import Any

from postino.engine.circuit_monitor import CircuitMonitor
from postino.rules.failures import is_outage_status
from postino.rules.gates import describe_closed_gate
from postino.values.provider import Answer, CallBlocked, Http, LostResponse, Unreachable


class GuardedHttp:
    """Refuses requests to a service whose circuit is open or that cools down.

    Media fetches are not guarded: the server of a media URL is not the service.
    """

    def __init__(self, http: Http, circuits: CircuitMonitor, service: str, on_request: Callable[[], None]) -> None:
        self.http = http
        self.circuits = circuits
        self.service = service
        self.on_request = on_request

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Send a request unless a gate is closed. Raises CallBlocked, NotSent or LostResponse."""
        if gate := self.circuits.find_closed_gate(self.service):
            raise CallBlocked(describe_closed_gate(gate))
        self.on_request()
        options = {"headers": headers, "params": params, "json": json, "form": form, "body": body, "timeout": timeout}
        try:
            response = await self.http.request(method, url, **options)
        except (Unreachable, LostResponse) as error:
            self.circuits.record_response(self.service, False, str(error))
            raise
        failing = is_outage_status(response.status)
        if failing is not None:
            reason = f"It answers with status {response.status}." if failing else None
            self.circuits.record_response(self.service, not failing, reason)
        return response

    async def fetch(self, url: str, *, most: int) -> Answer:
        """Download media from a URL that a person gave."""
        return await self.http.fetch(url, most=most)
