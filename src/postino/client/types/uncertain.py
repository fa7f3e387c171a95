"""Uncertain jobs: Postino does not know whether the network received them."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import TypedDict

from postino.client.types.jobs import JobView
from postino.client.types.ledger import IntentView, JobAttemptView, ReceiptView
from postino.client.types.schema import Doc


class UncertainJobView(JobView):
    """A job whose result is unknown, with everything recorded about its visible calls."""

    trouble: Annotated[str | None, Doc("Why the result is unknown.")]
    needs_person: Annotated[bool, Doc("True if Postino cannot look up the result and a person must decide.")]
    in_doubt: Annotated[list[str], Doc("Names of the steps whose result is unknown.")]
    intents: Annotated[list[IntentView], Doc("All intents to make a visible call.")]
    receipts: Annotated[list[ReceiptView], Doc("All results of visible calls.")]


class UncertainJobDetailsView(UncertainJobView):
    """An uncertain job with its history."""

    history: Annotated[list[JobAttemptView], Doc("All attempts, oldest first.")]


class LookupCandidateView(TypedDict):
    """A post on the network that may be the uncertain post."""

    remote_id: Annotated[str, Doc("Id of the post on the network.")]
    url: Annotated[str | None, Doc("Public URL of the post.")]


class LookupResultView(TypedDict):
    """The result of a lookup on the network. Nothing was changed."""

    result: Annotated[Literal["found", "not_found", "cannot_tell"], Doc("Whether the post is on the network.")]
    reason: Annotated[str | None, Doc("Why the result is `cannot_tell`.")]
    candidates: Annotated[list[LookupCandidateView], Doc("Posts that may be the uncertain post.")]
