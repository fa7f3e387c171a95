"""Drafts: posts that are not scheduled yet. Fields that were never set are absent."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

from postino.client.types.literals import MediaKind
from postino.client.types.schema import Doc, Timestamp, Uuid


class DraftMediaView(TypedDict, total=False):
    """An image or video of a draft."""

    url: Annotated[str | None, Doc("URL of the file.")]
    id: Annotated[None, Doc("Reserved for uploaded files; always null.")]
    alt: Annotated[str, Doc("Alternative text.")]
    kind: Annotated[MediaKind | None, Doc("Image or video.")]


class DraftOverrideView(TypedDict, total=False):
    """The fields of a draft that differ on one network."""

    text: Annotated[str | None, Doc("Text on this network.")]
    thread: Annotated[list[str] | None, Doc("Texts of the following posts of a thread.")]
    title: Annotated[str | None, Doc("Title on this network.")]
    hashtags: Annotated[list[str] | None, Doc("Hashtags on this network.")]
    media: Annotated[list[DraftMediaView] | None, Doc("Images and videos on this network.")]
    options: Annotated[dict[str, Any], Doc("Options that only this network has.")]


class DraftView(TypedDict):
    """A post that is not scheduled yet."""

    id: Annotated[Uuid, Doc("Id of the draft.")]
    author: Annotated[str, Doc("Who created the draft.")]
    brand: Annotated[str | None, Doc("Brand of the draft. Only callers with access to this brand see the draft.")]
    version: Annotated[int, Doc("Increases by one with each edit.")]
    created_at: Annotated[Timestamp, Doc("When the draft was created.")]
    changed_at: Annotated[Timestamp, Doc("When the draft was last edited.")]
    text: NotRequired[Annotated[str, Doc("Text of the post.")]]
    thread: NotRequired[Annotated[list[str], Doc("Texts of the following posts of a thread.")]]
    title: NotRequired[Annotated[str, Doc("Title, for networks that have one.")]]
    hashtags: NotRequired[Annotated[list[str], Doc("Hashtags.")]]
    media: NotRequired[Annotated[list[DraftMediaView], Doc("Images and videos.")]]
    placeholders: NotRequired[Annotated[dict[str, str], Doc("Values of the placeholders in the texts.")]]
    overrides: NotRequired[Annotated[dict[str, DraftOverrideView], Doc("Fields that differ, by network.")]]
    accounts: NotRequired[Annotated[list[str], Doc("Ids of the accounts to publish on.")]]
    at: NotRequired[Annotated[str, Doc("When to publish, as the author wrote it.")]]
    timezone: NotRequired[Annotated[str, Doc("Time zone of `at` and `publish_until`.")]]
    publish_until: NotRequired[Annotated[str, Doc("Postino does not publish the post after this time.")]]
