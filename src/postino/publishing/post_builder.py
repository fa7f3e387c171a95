"""Build the rows of a request: its content, and for each account a post with its job and idempotency key."""

from collections.abc import Collection, Sequence

from postino.publishing.contents import dump_content, extract_search_text
from postino.publishing.post_payload import MediaPayload, PostPayload, dump_payload
from postino.publishing.post_request import PostRequest
from postino.publishing.post_validation import PostPreview
from postino.rules.idempotency import make_content_key, make_fingerprint, make_job_key
from postino.rules.media import guess_kind
from postino.rules.rendering import RenderedPost, limit_to_networks
from postino.stores.records import NewJob
from postino.values.job import Queue, new_id
from postino.values.post import POST, NewContent, NewPost, StoredAccount


def build_content(
    request: PostRequest, accounts: Sequence[StoredAccount], networks: Collection[str] | None = None
) -> NewContent:
    """Build the content of posts on these accounts.

    A search finds only what the brands of all accounts may see and, with `networks`, only the overrides of these.
    """
    searched, brands = request.content, {account.brand for account in accounts}
    if networks is None and len(brands) > 1:
        networks = [
            network
            for network in request.content.overrides
            if brands == {account.brand for account in accounts if account.network == network}
        ]
    if networks is not None:
        searched = limit_to_networks(searched, networks)
    return NewContent(
        id=new_id(),
        text=dump_content(request.content),
        search_text=extract_search_text(searched),
        brand=accounts[0].brand,
        user_id=request.user_id,
    )


def build_posts(request: PostRequest, previews: Sequence[PostPreview]) -> Sequence[tuple[NewPost, NewJob]]:
    """Return a post and its job for each preview. Accounts of one network share the same payload."""
    by_network = {preview.account.network: preview for preview in previews}
    payloads = {
        network: dump_payload(build_payload(request, preview.rendered)) for network, preview in by_network.items()
    }
    return [build_post(request, preview, payloads[preview.account.network]) for preview in previews]


def build_post(request: PostRequest, preview: PostPreview, payload: bytes) -> tuple[NewPost, NewJob]:
    account, rendered = preview.account, preview.rendered
    job_id = new_id()
    references = [media.reference for media in rendered.media]
    post = NewPost(
        id=job_id,
        account=account.id,
        network=account.network,
        fingerprint=make_fingerprint(account.id, rendered.parts, references),
        publish_until_at=request.publish_until_at,
        guard=request.at is None and request.key is None and not request.allow_duplicate,
        ignore_blackouts=request.allow_blackout,
    )
    job = NewJob(
        id=job_id,
        type=POST,
        channel=account.network,
        queue=Queue.HIGH if request.at is None else Queue.DEFAULT,
        payload=payload,
        key=build_key(request, account),
        run_at=request.at,
        account=account.id,
        brand=account.brand,
        user_id=request.user_id,
    )
    return post, job


def build_key(request: PostRequest, account: StoredAccount) -> str | None:
    """Return the idempotency key of a post: from the caller's key, or from content, account and time.

    A post that is published now without a caller's key has none.
    """
    if request.key is not None:
        return make_job_key(request.key, account.id)
    if request.at is None or request.allow_duplicate:
        return None
    return make_content_key(
        request.content, brand=account.brand, channel=account.network, account=account.id, scheduled_at=request.at
    )


def build_payload(request: PostRequest, rendered: RenderedPost) -> PostPayload:
    media = tuple(
        MediaPayload(url=media.url, kind=str(guess_kind(media) or "image"), alt=media.alt) for media in rendered.media
    )
    return PostPayload(
        parts=rendered.parts,
        title=rendered.title,
        media=media,
        options=dict(rendered.options),
        publish_until_at=request.publish_until_at,
    )
