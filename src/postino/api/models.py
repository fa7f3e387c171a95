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

    url: Annotated[str | None, Doc("Where the file can be downloaded.")] = None
    id: Annotated[str | None, Doc("Reserved for uploads, which do not exist yet; leave it out.")] = None
    alt: Annotated[str, Doc("Alternative text for people who cannot see the image.")] = ""
    kind: Annotated[Literal["image", "video"] | None, Doc("What it is; left out, the file's type decides.")] = None

    @property
    def known_kind(self) -> MediaKind | None:
        return None if self.kind is None else MediaKind(self.kind)


class TextBody(Strict):
    text: Annotated[str | None, Doc("The text of the post. It may hold placeholders such as `{{name}}`.")] = None
    thread: Annotated[
        Texts | None, Doc("Further texts, which are published as replies to the first where the network has threads.")
    ] = None
    title: Annotated[str | None, Doc("Title, for networks that have one.")] = None
    hashtags: Annotated[
        Texts | None, Doc("Hashtags without `#`; they are added to the text as the network wants them.")
    ] = None
    media: Annotated[Annotated[list[MediaBody], Field(fail_fast=True)] | None, Doc("Images and videos, in order.")] = (
        None
    )


class OverrideBody(TextBody):
    """What is different on one network. Fields that are left out are as everywhere."""

    options: Annotated[dict[str, Any], Doc("Options of the network, such as its visibility or category.")] = Field(
        default_factory=dict
    )


class ContentBody(TextBody):
    placeholders: Annotated[dict[str, str] | None, Doc("Values of the placeholders in the texts, by name.")] = None
    overrides: Annotated[
        dict[str, OverrideBody] | None, Doc("What is different on a network, by the network's name.")
    ] = None
    first_comment: Annotated[
        str | None, Doc("Reserved for a first comment, which is not supported yet; leave it out.")
    ] = None
    publish_until: Annotated[
        str | None, Doc("Time after which the post must not be published any more; it fails instead.")
    ] = None
    at: Annotated[
        str | None, Doc("When to publish: ISO 8601 with an offset, or local to `timezone`. Left out: now.")
    ] = None
    timezone: Annotated[str | None, Doc("IANA time zone of times without an offset, such as `Europe/Rome`.")] = None


class PostBody(ContentBody):
    """A post for one or more accounts."""

    accounts: Annotated[
        Texts,
        Field(json_schema_extra={"minItems": 1, "maxItems": MAX_ACCOUNTS}),
        Doc("Ids of the accounts that publish it, such as `mastodon:acme`."),
    ]
    preview: Annotated[bool, Doc("Return how the posts would look, and create nothing.")] = False
    allow_duplicate: Annotated[bool, Doc("Publish even if the same post for the same account exists.")] = False
    allow_blackout: Annotated[bool, Doc("Publish even during a blackout.")] = False


class ReasonBody(Strict):
    """Why somebody does this."""

    reason: Annotated[Reason, Doc("Why; it is stored in the audit trail.")] = ""


class RequiredReasonBody(Strict):
    """Why somebody does this; it must be given."""

    reason: Annotated[Reason, Doc("Why; it is stored in the audit trail.")]


class ReplayBody(ReasonBody):
    """How to replay a failed post."""

    force: Annotated[bool, Doc("Replay even if it failed for a reason that a replay does not remove.")] = False


class ResolveBody(Strict):
    """What a person found out about an uncertain post or job."""

    verdict: Annotated[
        Literal["live", "send_again", "give_up"],
        Doc("`live`: it was published. `send_again`: it was not, publish it. `give_up`: it failed."),
    ]
    reason: Annotated[
        str, Field(min_length=1, max_length=MAX_REASON), Doc("How it was found out; it is stored in the audit trail.")
    ]
    remote_id: Annotated[Name | None, Doc("Id of the post on its network; required for `live`.")] = None
