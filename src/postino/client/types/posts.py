"""Posts, contents, previews and validation results."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from postino.client.types.ledger import AttemptView, IntentView, ReceiptView, StepView
from postino.client.types.literals import Cause, ContentStatus, Flag, MediaKind, Severity, Status
from postino.client.types.schema import Doc, Timestamp, Uuid


class PostView(TypedDict):
    """A post: one content on one account."""

    id: Annotated[Uuid, Doc("Id of the post, which is also the id of its job.")]
    status: Annotated[Status, Doc("Status of the post.")]
    flags: Annotated[list[Flag], Doc("Any of `retrying`, `deferred`, `late` and `at_risk`.")]
    reasons: Annotated[dict[Flag, str], Doc("Why each flag is set.")]
    network: Annotated[str, Doc("Network of the account.")]
    account: Annotated[str, Doc("Id of the account.")]
    content_id: Annotated[Uuid, Doc("Id of the content, which all posts of one request share.")]
    scheduled_at: Annotated[Timestamp, Doc("When the post is scheduled to go out.")]
    run_at: Annotated[Timestamp | None, Doc("When Postino next works on the post; null if it waits for a person.")]
    published_at: Annotated[Timestamp | None, Doc("When the network published the post.")]
    remote_id: Annotated[str | None, Doc("Id of the post on the network.")]
    url: Annotated[str | None, Doc("Public URL of the post.")]
    attempts: Annotated[int, Doc("Number of attempts so far.")]
    last_error: Annotated[str | None, Doc("Error message of the last failed attempt.")]
    needs_person: Annotated[bool, Doc("True if only a person can decide what happens next.")]
    publish_until: Annotated[Timestamp | None, Doc("Postino does not publish the post after this time.")]
    version: Annotated[int, Doc("Increases by one with each edit.")]
    created_at: Annotated[Timestamp, Doc("When the post was created.")]
    text: Annotated[str, Doc("Text of the post.")]


class EditedPostView(PostView):
    """A post after an edit."""

    notes: Annotated[list[str], Doc("Notes about the post, such as a blackout that delays it.")]


class PostDetailsView(PostView):
    """A post with its history."""

    history: Annotated[list[AttemptView], Doc("All attempts, oldest first.")]
    steps: Annotated[list[StepView], Doc("All stored steps.")]
    intents: Annotated[list[IntentView], Doc("All intents to make a visible call.")]
    receipts: Annotated[list[ReceiptView], Doc("All results of visible calls.")]
    cause: Annotated[Cause | None, Doc("Why the post failed.")]
    cancelled: Annotated[str | None, Doc("Who cancelled the post, and why.")]


class CreatedPostsView(TypedDict):
    """The posts that a request created, one for each account."""

    content_id: Annotated[Uuid, Doc("Id of the content.")]
    status: Annotated[ContentStatus, Doc("Status of all posts together.")]
    posts: Annotated[list[PostView], Doc("The posts.")]
    notes: Annotated[list[str], Doc("Notes about the posts, such as a blackout that delays them.")]


class CreatedPostView(PostView):
    """The only post that a request created. `posts` contains the same post."""

    posts: Annotated[list[PostView], Doc("The post.")]
    notes: Annotated[list[str], Doc("Notes about the post, such as a blackout that delays it.")]


class MediaView(TypedDict):
    """An image or video."""

    url: Annotated[str, Doc("URL of the file.")]
    alt: Annotated[str, Doc("Alternative text.")]
    kind: Annotated[MediaKind | None, Doc("Image or video; null if not known yet.")]


class OverrideView(TypedDict):
    """The fields that differ on one network."""

    text: NotRequired[Annotated[str, Doc("Text on this network.")]]
    thread: NotRequired[Annotated[list[str], Doc("Texts of the following posts of a thread.")]]
    title: NotRequired[Annotated[str, Doc("Title on this network.")]]
    hashtags: NotRequired[Annotated[list[str], Doc("Hashtags on this network.")]]
    media: NotRequired[Annotated[list[MediaView], Doc("Images and videos on this network.")]]
    options: Annotated[dict[str, Any], Doc("Options that only this network has.")]


class ContentView(TypedDict):
    """The text, media and options of one or more posts."""

    id: Annotated[Uuid, Doc("Id of the content.")]
    status: Annotated[ContentStatus, Doc("Status of all posts together.")]
    text: Annotated[str, Doc("Text of the content.")]
    thread: Annotated[list[str], Doc("Texts of the following posts of a thread.")]
    title: Annotated[str | None, Doc("Title, for networks that have one.")]
    hashtags: Annotated[list[str], Doc("Hashtags.")]
    media: Annotated[list[MediaView], Doc("Images and videos.")]
    placeholders: Annotated[dict[str, str], Doc("Values of the placeholders in the texts.")]
    overrides: Annotated[dict[str, OverrideView], Doc("Fields that differ, by network.")]
    posts: Annotated[list[PostView], Doc("The posts of the content, one for each account.")]


class PostProblemView(TypedDict):
    """A rule of the network that a post violates, or a change that the network would make."""

    severity: Annotated[Severity, Doc("An error prevents publishing; a warning does not.")]
    field: Annotated[str | None, Doc("The field at fault; null if no single field is at fault.")]
    message: Annotated[str, Doc("What is wrong.")]


class AccountProblemView(PostProblemView):
    """A problem, and the account that has the problem."""

    account: Annotated[str | None, Doc("Id of the account; null if the problem concerns all accounts.")]
    network: Annotated[str | None, Doc("Network of the account; null if the problem concerns all accounts.")]


class PostPreviewView(TypedDict):
    """A post as one account would publish it."""

    account: Annotated[str, Doc("Id of the account.")]
    network: Annotated[str, Doc("Network of the account.")]
    publishable: Annotated[bool, Doc("True if the post breaks no rule of the network.")]
    parts: Annotated[list[str], Doc("Final texts, one for each post of a thread.")]
    title: Annotated[str | None, Doc("Final title.")]
    media: Annotated[list[MediaView], Doc("Images and videos.")]
    hashtags: Annotated[list[str], Doc("Final hashtags.")]
    problems: Annotated[list[PostProblemView], Doc("Errors and warnings.")]


class PreviewResultView(TypedDict):
    """The preview of a request on all its accounts. Nothing was created."""

    preview: Annotated[Literal[True], Doc("Always true.")]
    posts: Annotated[list[PostPreviewView], Doc("One preview for each account.")]
    notes: Annotated[list[str], Doc("Notes about the posts, such as a blackout that delays them.")]


class ValidationResultView(TypedDict):
    """Whether a request is valid, with all its problems. Nothing was created."""

    valid: Annotated[bool, Doc("True if there are no errors.")]
    problems: Annotated[list[AccountProblemView], Doc("Errors and warnings of all accounts.")]
    posts: Annotated[list[PostPreviewView], Doc("One preview for each account.")]
    notes: Annotated[list[str], Doc("Notes about the posts, such as a blackout that delays them.")]
