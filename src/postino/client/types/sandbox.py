"""The sandbox: simulated networks, their published posts, faults and call counts."""

from __future__ import annotations

from typing import Annotated, Any

from typing_extensions import TypedDict

from postino.client.types.schema import Doc, Timestamp


class SandboxPostView(TypedDict):
    """A post that is visible on a simulated network."""

    number: Annotated[int, Doc("Number of the post, in the order of publication.")]
    epoch: Annotated[int, Doc("Epoch of the sandbox; each reset starts a new one.")]
    network: Annotated[str, Doc("Name of the network.")]
    account: Annotated[str, Doc("Handle of the account.")]
    remote_id: Annotated[str, Doc("Id of the post on the network.")]
    kind: Annotated[str, Doc("Kind of post.")]
    title: Annotated[str | None, Doc("Title of the post.")]
    text: Annotated[str, Doc("Text of the post.")]
    media: Annotated[list[Any], Doc("Images and videos.")]
    reply_to: Annotated[str | None, Doc("Id of the post that this one replies to.")]
    published_at: Annotated[Timestamp, Doc("When the post became visible.")]


class SandboxPostsView(TypedDict):
    """All posts of the sandbox, in the order of publication."""

    data: Annotated[list[SandboxPostView], Doc("The posts.")]
    epoch: Annotated[int, Doc("Current epoch of the sandbox.")]


class SandboxEndpointView(TypedDict):
    """An endpoint of a simulated network."""

    name: Annotated[str, Doc("Name of the endpoint.")]
    methods: Annotated[list[str], Doc("HTTP methods.")]
    path: Annotated[str, Doc("Path pattern.")]
    visible: Annotated[bool, Doc("True if a call to the endpoint is a visible call.")]
    faults: Annotated[list[str], Doc("Faults that the endpoint supports.")]


class SandboxNetworkView(TypedDict):
    """A simulated network."""

    network: Annotated[str, Doc("Name of the network.")]
    title: Annotated[str, Doc("Name for people.")]
    colour: Annotated[str, Doc("Brand colour.")]
    icon: Annotated[str, Doc("SVG path of the icon in a 24 by 24 square.")]
    endpoints: Annotated[list[SandboxEndpointView], Doc("Endpoints of the network.")]


class FaultKindView(TypedDict):
    """A kind of fault that the sandbox can inject."""

    fault: Annotated[str, Doc("Name of the fault.")]
    meaning: Annotated[str, Doc("What happens.")]
    params: Annotated[list[str], Doc("Names of its parameters.")]


class SandboxNetworksView(TypedDict):
    """All simulated networks and kinds of fault."""

    data: Annotated[list[SandboxNetworkView], Doc("The networks.")]
    faults: Annotated[list[FaultKindView], Doc("The kinds of fault.")]


class FaultView(TypedDict):
    """A fault that the sandbox injects into matching calls."""

    id: Annotated[int, Doc("Id of the fault.")]
    network: Annotated[str, Doc("Name of the network, or `*` for all.")]
    endpoint: Annotated[str | None, Doc("Name of the endpoint; null for all.")]
    account: Annotated[str | None, Doc("Handle of the account; null for all.")]
    fault: Annotated[str, Doc("Name of the kind of fault.")]
    times: Annotated[int | None, Doc("How many more calls will fail; null if `rate` decides.")]
    rate: Annotated[float | None, Doc("Share (0 to 1) of calls that fail; null if `times` decides.")]
    params: Annotated[dict[str, Any], Doc("Parameters of the fault.")]
    fired: Annotated[int, Doc("How many calls have failed so far.")]


class FaultsView(TypedDict):
    """All active faults."""

    data: Annotated[list[FaultView], Doc("The faults.")]


class RemovedFaultsView(TypedDict):
    """The result of removing faults."""

    removed: Annotated[int, Doc("Number of faults removed.")]


class SandboxEpochView(TypedDict):
    """The result of a reset."""

    epoch: Annotated[int, Doc("The new epoch.")]


class NetworkCallsView(TypedDict):
    """Call counts of one network."""

    network: Annotated[str, Doc("Name of the network.")]
    calls: Annotated[int, Doc("Number of calls.")]
    in_flight: Annotated[int, Doc("Number of calls in progress.")]
    max_in_flight: Annotated[int, Doc("Highest number of calls in progress at once.")]


class AccountCallsView(NetworkCallsView):
    """Call counts of one account."""

    account: Annotated[str | None, Doc("Handle of the account; null for calls without one.")]
    endpoints: Annotated[dict[str, int], Doc("Number of calls by endpoint.")]


class SandboxCallsView(TypedDict):
    """Call counts of the sandbox."""

    data: Annotated[list[AccountCallsView], Doc("Counts by account.")]
    networks: Annotated[list[NetworkCallsView], Doc("Counts by network.")]
