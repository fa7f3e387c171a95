"""The HTTP client of a job's calls: it asks the circuit before each request and reports each response to it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from postino.engine.service_guard import ServiceGuard
from postino.rules.failures import is_outage_status, is_refusal_status
from postino.rules.gates import describe_closed_gate
from postino.rules.token_patterns import hide_tokens
from postino.values.provider import (
    Answer,
    Body,
    CallBlocked,
    Failure,
    Http,
    LostResponse,
    NotSent,
    ResponseTooLarge,
    Unreachable,
)


class GuardedHttp:
    """Refuses requests to a service whose circuit is open or that cools down.

    Only what the service answers, or fails to answer, counts. Media fetches are not guarded: the server of a media URL
    is not the service.

    `may_have_published` is True once a request was sent whose effect others can see, unless the status of its response
    is a refusal. `may_have_published_earlier` leaves the last request out: the result of a call judges only that one.
    """

    def __init__(
        self, http: Http, guard: ServiceGuard, on_request: Callable[[], None], on_fetch: Callable[[], None]
    ) -> None:
        self.http = http
        self.guard = guard
        self.on_request = on_request
        self.on_fetch = on_fetch
        self.unrefused = 0  # visible requests that are under way or may have published
        self.may_have_published_earlier = False

    @property
    def may_have_published(self) -> bool:
        return self.unrefused > 0

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        body: Body | None = None,
        timeout: float | None = None,
        inert: bool = False,
    ) -> Answer:
        """Send a request unless a gate is closed. Raises CallBlocked, NotSent or LostResponse."""
        self.may_have_published_earlier = self.may_have_published
        if gate := await self.guard.find_closed_gate():
            raise CallBlocked(describe_closed_gate(gate))
        self.on_request()
        options = {"headers": headers, "params": params, "json": json, "form": form, "body": body, "timeout": timeout}
        is_visible = not inert and method != "GET"
        self.unrefused += is_visible
        try:
            with self.guard.keep_watching():
                response = await self.http.request(method, url, inert=inert, **options)
        except NotSent as error:
            self.unrefused -= is_visible
            if isinstance(error, Unreachable):
                self.guard.record_response(False, str(error))
            raise
        except ResponseTooLarge:
            raise
        except LostResponse as error:
            self.guard.record_response(False, str(error))
            raise
        self.unrefused -= is_visible and is_refusal_status(response.status)
        failing = is_outage_status(response.status)
        if failing is not None:
            reason = f"The service responded with status {response.status}." if failing else None
            self.guard.record_response(not failing, reason)
        return response

    def redact(self, text: str) -> str:
        """Replace the secrets of this call in a message. A client that knows none recognises tokens by their form."""
        redact: Callable[[str], str] = getattr(self.http, "redact", hide_tokens)
        return redact(text)

    async def fetch(self, url: str, *, most: int) -> Answer:
        """Download media from a URL that a person gave."""
        self.may_have_published_earlier = self.may_have_published
        self.on_fetch()
        return await self.http.fetch(url, most=most)


def hide_secrets(failure: Failure, http: GuardedHttp) -> Failure:
    """Return the failure without secrets: its message may quote a response that was no error."""
    return replace(failure, message=http.redact(failure.message))
