"""Error responses: problem details (RFC 9457)."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from postino.client.types.literals import Severity
from postino.client.types.schema import Doc


class RequestProblemView(TypedDict):
    """One problem of a request that has several."""

    field: Annotated[str | None, Doc("The field at fault; null if no single field is at fault.")]
    message: Annotated[str, Doc("What is wrong.")]
    account: NotRequired[Annotated[str | None, Doc("The account that the problem concerns.")]]
    network: NotRequired[Annotated[str | None, Doc("The network that the problem concerns.")]]
    severity: NotRequired[Annotated[Severity, Doc("An error prevents publishing; a warning does not.")]]


class ProblemDetailsView(TypedDict):
    """An error response (RFC 9457)."""

    type: Annotated[str, Doc("URI that identifies the kind of problem.")]
    title: Annotated[str, Doc("Short name of the HTTP status.")]
    status: Annotated[int, Doc("HTTP status code.")]
    detail: Annotated[str, Doc("What happened and what to do.")]
    field: NotRequired[Annotated[str, Doc("The request field at fault.")]]
    problems: NotRequired[Annotated[list[RequestProblemView], Doc("All problems, if there are several.")]]
    request_id: NotRequired[Annotated[str, Doc("Id of the request in the server's log.")]]
