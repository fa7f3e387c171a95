"""Publishing statistics."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from postino.client.types.schema import Doc, Timestamp


class PostStatsView(TypedDict):
    """Statistics of posts that ended in a time window."""

    published: Annotated[int, Doc("Number of published posts.")]
    failed: Annotated[int, Doc("Number of failed posts.")]
    cancelled: Annotated[int, Doc("Number of cancelled posts.")]
    per_minute: Annotated[float, Doc("Published posts per minute.")]
    success_rate: Annotated[float | None, Doc("Published posts as a share (0 to 1) of published and failed ones.")]
    on_time_rate: Annotated[float | None, Doc("Share (0 to 1) of published posts that were on time.")]
    late_p50: Annotated[float | None, Doc("Median delay in seconds; null if nothing was published.")]
    late_p95: Annotated[float | None, Doc("95th percentile of the delay in seconds.")]
    late_p99: Annotated[float | None, Doc("99th percentile of the delay in seconds.")]


class StatsView(PostStatsView):
    """Statistics of all posts and of each network."""

    since_at: Annotated[Timestamp, Doc("Start of the time window.")]
    until_at: Annotated[Timestamp, Doc("End of the time window.")]
    complete: Annotated[bool, Doc("False if there are more posts than Postino counts.")]
    networks: Annotated[dict[str, PostStatsView], Doc("Statistics by network.")]
