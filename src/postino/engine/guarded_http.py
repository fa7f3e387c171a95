"""The door outwards as calls of a job see it: nobody calls a service that is left alone, and what it answers counts."""

from collections.abc import Callable, Mapping
from typing import Any

from postino.engine.circuits import CircuitMonitor
from postino.rules.failures import in_trouble
from postino.rules.gates import told_of_gate
from postino.values.provider import Answer, HeldBack, Http, NoAnswer, Unreachable


class GuardedHttp:
    """What is fetched from addresses that people gave says nothing about the service, and is not held back."""

    def __init__(self, http: Http, circuits: CircuitMonitor, service: str, asked: Callable[[], None]) -> None:
        self.http = http
        self.circuits = circuits
        self.service = service
        self.asked = asked  # notes that the service itself can tell how it is

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
        if gate := self.circuits.shut(self.service):
            raise HeldBack(told_of_gate(gate))
        self.asked()
        sending = {"headers": headers, "params": params, "json": json, "form": form, "body": body, "timeout": timeout}
        try:
            answer = await self.http.request(method, url, **sending)
        except (Unreachable, NoAnswer) as error:
            self.circuits.answered(self.service, False, str(error))
            raise
        trouble = in_trouble(answer.status)
        if trouble is not None:
            why = f"It answers with status {answer.status}." if trouble else None
            self.circuits.answered(self.service, not trouble, why)
        return answer

    async def fetch(self, url: str, *, most: int) -> Answer:
        return await self.http.fetch(url, most=most)
