"""Request bodies that several endpoints share. What a network accepts is checked later, with the accounts at hand.

`Doc` holds the description of a field in openapi.json.
"""

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from postino.client.types.schema import Doc
from postino.values.content import MediaKind

MAX_ACCOUNTS = 100
MAX_REASON = 2000
MAX_NAME = 500
Texts = Annotated[list[str], Field(fail_fast=True)]  # of many invalid elements, the first is reported
Name = Annotated[str, Field(max_length=MAX_NAME)]
Reason = Annotated[str, Field(max_length=MAX_REASON)]
PostId = Annotated[UUID, Path(description="Id of the post.")]
JobId = Annotated[UUID, Path(description="Id of the job.")]


class Strict(BaseModel):
    """A body whose values are not converted and whose unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class MediaBody(Strict):
    """An image or a video, by its URL."""

    url: Annotated[str | None, Doc("URL of the file.")] = None
    id: Annotated[str | None, Doc("Reserved for uploads, which do not exist yet; leave it out.")] = None
    alt: Annotated[str, Doc("Alternative text for people who cannot see the image.")] = ""
    kind: Annotated[
        Literal["image", "video"] | None,
        Doc("Kind of file. Left out: the extension of the URL decides; an unknown extension means `image`."),
    ] = None

    @property
    def known_kind(self) -> MediaKind | None:
        return None if self.kind is None else MediaKind(self.kind)


class TextBody(Strict):
    text: Annotated[str | None, Doc("The text of the post. It may contain placeholders such as `{{name}}`.")] = None
    thread: Annotated[Texts | None, Doc("Further texts of a thread. Each one is a reply to the text before it.")] = None
    title: Annotated[str | None, Doc("Title, for networks that have one.")] = None
    hashtags: Annotated[
        Texts | None, Doc("Hashtags, with or without `#`. Postino appends those that the text does not contain.")
    ] = None
    media: Annotated[Annotated[list[MediaBody], Field(fail_fast=True)] | None, Doc("Images and videos, in order.")] = (
        None
    )


class OverrideBody(TextBody):
    """Fields that differ on one network. Other fields keep their common value."""

    options: Annotated[dict[str, Any], Doc("Options of the network, such as its visibility or category.")] = Field(
        default_factory=dict
    )


class ContentBody(TextBody):
    placeholders: Annotated[dict[str, str] | None, Doc("Values of the placeholders in the texts, by name.")] = None
    overrides: Annotated[
        dict[str, OverrideBody] | None, Doc("Fields that differ on a network, by the network's name.")
    ] = None
    first_comment: Annotated[
        str | None, Doc("Reserved for a first comment, which is not supported yet; leave it out.")
    ] = None
    publish_until: Annotated[
        str | None, Doc("Time after which Postino does not publish the post; the post fails instead.")
    ] = None
    at: Annotated[str | None, Doc("When to publish: ISO 8601 with an offset, or local to `timezone`.")] = None
    timezone: Annotated[str | None, Doc("IANA time zone of times without an offset, such as `Europe/Rome`.")] = None


class PostBody(ContentBody):
    """A post for one or more accounts."""

    at: Annotated[
        str | None, Doc("When to publish: ISO 8601 with an offset, or local to `timezone`. Left out: now.")
    ] = None
    accounts: Annotated[
        Texts,
        Field(json_schema_extra={"minItems": 1, "maxItems": MAX_ACCOUNTS}),
        Doc("Ids of the accounts that publish the post, such as `mastodon:acme`."),
    ]
    preview: Annotated[bool, Doc("Return the rendered posts, and create nothing.")] = False
    allow_duplicate: Annotated[bool, Doc("Publish even if the account already has a post with the same content.")] = (
        False
    )
    allow_blackout: Annotated[bool, Doc("Publish even during a blackout.")] = False


class ReasonBody(Strict):
    """The reason for an action."""

    reason: Annotated[Reason, Doc("The reason, for the audit trail.")] = ""


class RequiredReasonBody(Strict):
    """The reason for an action; required."""

    reason: Annotated[Reason, Doc("The reason, for the audit trail.")]


class ReplayBody(ReasonBody):
    """Options for replaying a failed post."""

    force: Annotated[bool, Doc("Replay even if the cause of the failure is `permanent`, `poison` or `given_up`.")] = (
        False
    )


class ResolveBody(Strict):
    """What a person decides about an uncertain post or job."""

    verdict: Annotated[
        Literal["live", "send_again", "give_up"],
        Doc("`live`: the network published the post. `send_again`: send the post again. `give_up`: let the post fail."),
    ]
    reason: Annotated[
        str, Field(min_length=1, max_length=MAX_REASON), Doc("The reason for the decision, for the audit trail.")
    ]
    remote_id: Annotated[Name | None, Doc("Id of the post on its network; required for `live`.")] = None
