"""The bodies of requests, field by field. What a network takes is checked later, with the accounts at hand."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from postino.values.content import MediaKind

MOST_ACCOUNTS = 100
MOST_REASON = 2000
MOST_BRAND = 500
Texts = Annotated[list[str], Field(fail_fast=True)]  # of a hundred thousand that are wrong, the first is enough


class Strict(BaseModel):
    """Nothing is converted, and what does not exist is refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class MediaBody(Strict):
    url: str | None = None
    id: str | None = None
    alt: str = ""
    kind: Literal["image", "video"] | None = None

    @property
    def known_kind(self) -> MediaKind | None:
        return None if self.kind is None else MediaKind(self.kind)


class Said(Strict):
    """What is said; None: nothing is said about it here."""

    text: str | None = None
    thread: Texts | None = None
    title: str | None = None
    hashtags: Texts | None = None
    media: Annotated[list[MediaBody], Field(fail_fast=True)] | None = None


class OverrideBody(Said):
    options: dict[str, Any] = Field(default_factory=dict)


class ContentBody(Said):
    placeholders: dict[str, str] | None = None
    overrides: dict[str, OverrideBody] | None = None
    first_comment: str | None = None
    publish_until: str | None = None
    at: str | None = None
    timezone: str | None = None


class PostBody(ContentBody):
    """`POST /v1/posts`."""

    accounts: Annotated[Texts, Field(json_schema_extra={"minItems": 1, "maxItems": MOST_ACCOUNTS})]
    preview: bool = False
    allow_duplicate: bool = False
    allow_blackout: bool = False


class ValidateBody(PostBody):
    """`POST /v1/posts/validate`: even what no post could be is told of by all its problems."""

    accounts: Texts


class DraftBody(ContentBody):
    """`POST /v1/drafts`: like a post, and nothing of it needs to be there yet."""

    accounts: Texts | None = None
    brand: Annotated[str, Field(max_length=MOST_BRAND)] | None = None


class ScheduleBody(Strict):
    """`POST /v1/drafts/{id}/schedule`: when, if not as the draft says."""

    at: str | None = None
    timezone: str | None = None
    allow_duplicate: bool = False
    allow_blackout: bool = False


class ChangeBody(ContentBody):
    """`PATCH /v1/posts/{id}`: what is left out stays as it is."""

    reason: Annotated[str, Field(max_length=MOST_REASON)] = ""


class DeedBody(Strict):
    """What a person does by hand, and why."""

    reason: Annotated[str, Field(max_length=MOST_REASON)] = ""


class NowBody(DeedBody):
    """`POST /v1/posts/{id}/publish-now`."""

    allow_blackout: bool = False


class ReplayBody(DeedBody):
    force: bool = False


class ResolveBody(Strict):
    """A person's word about an uncertain post."""

    verdict: Literal["live", "send_again", "give_up"]
    reason: Annotated[str, Field(min_length=1, max_length=MOST_REASON)]
    remote_id: Annotated[str, Field(max_length=500)] | None = None


class NeededReason(Strict):
    reason: Annotated[str, Field(max_length=MOST_REASON)]


class OpenBody(NeededReason):
    """`POST /v1/circuits/{service}/open`: until then, for so long or, with neither, until somebody closes it."""

    until: str | None = None
    timezone: str | None = None
    seconds: float | None = None


class BlackoutBody(Strict):
    """`POST /v1/blackouts`. What its fields may hold, the rule about blackouts says, in its own words."""

    scope: str | None = None
    channel: str | None = None
    brand: str | None = None
    account: str | None = None
    start: str | None = None
    end: str | None = None
    timezone: str | None = None
    days: Annotated[list[int], Field(fail_fast=True)] | None = None
    reason: str | None = None
