"""Render a content for the network of each account, and check it against the network's limits before it is queued."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from postino import clock
from postino.errors import NotFound, WrongUse
from postino.publishing.loop_turns import LoopTurns
from postino.publishing.post_request import PostRequest, check_times
from postino.rules.content_limits import NetworkLimits, check_limits
from postino.rules.rendering import RenderedPost, render_content
from postino.stores.store import Store
from postino.values.content import Content, Problem, Severity, check_networks
from postino.values.post import StoredAccount, describe_missing_account


@dataclass(frozen=True, slots=True)
class PostPreview:
    """A content as one account would publish it, and the problems its network would have with it."""

    account: StoredAccount
    rendered: RenderedPost
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.severity is Severity.ERROR]


class InvalidPost(WrongUse):
    """At least one network would refuse the content. `previews` has the problems of every account."""

    def __init__(self, previews: Sequence[PostPreview], consequence: str = "Nothing was queued.") -> None:
        errors = [(preview, problem) for preview in previews for problem in preview.errors]
        message = " ".join(f"{preview.account.id}: {problem.message}" for preview, problem in errors)
        super().__init__(f"{consequence} {message}", field=errors[0][1].field)
        self.previews = previews


class PostValidator:
    def __init__(
        self,
        store: Store,
        limits: Mapping[str, NetworkLimits],
        network_titles: Mapping[str, str],
        describe_media_problem: Callable[[str], str | None],
    ) -> None:
        self.store = store
        self.limits = limits
        self.network_titles = network_titles
        self.turns = LoopTurns()
        self.describe_media_problem = describe_media_problem  # why a URL is never fetched; None if it may be

    async def preview(
        self, request: PostRequest, accounts: Sequence[StoredAccount] | None = None
    ) -> Sequence[PostPreview]:
        """Check and render a request without queueing anything. The store is asked for accounts unless they are given.

        Raises WrongUse for wrong times or networks, NotFound for an unknown account.
        """
        check_times(request, clock.now())
        self.check_networks(request.content)
        if not request.accounts:
            raise WrongUse("accounts: name at least one account.", field="accounts")
        known = {account.id: account for account in accounts or await self.store.accounts_by_id(request.accounts)}
        for name in request.accounts:
            if name not in known:
                raise NotFound(describe_missing_account(name))
        publishing = [self.check_account(known[name]) for name in dict.fromkeys(request.accounts)]
        return await self.turns.run(lambda: self.preview_content(request.content, publishing))

    def check_networks(self, content: Content) -> Content:
        """Raise WrongUse if the content has an override for an unknown network."""
        check_networks(content, self.network_titles)
        return content

    def check_account(self, account: StoredAccount) -> StoredAccount:
        """Raise WrongUse if Postino cannot publish to the account's network."""
        if account.network not in self.limits:
            message = f"Postino does not publish to {self.network_titles.get(account.network, account.network)} yet."
            raise WrongUse(f"accounts: {account.id}: {message}", field="accounts")
        return account

    def preview_content(self, content: Content, accounts: Sequence[StoredAccount]) -> Sequence[PostPreview]:
        """Return a preview for each account. The content is rendered once for each network."""
        networks = {account.network for account in accounts}
        rendered = {network: self.render_and_check(content, network) for network in networks}
        return [PostPreview(account, *rendered[account.network]) for account in accounts]

    def render_and_check(self, content: Content, network: str) -> tuple[RenderedPost, tuple[Problem, ...]]:
        rendered = render_content(content, network)
        return rendered, (*self.check_media_urls(rendered), *check_limits(rendered, self.limits[network]))

    def check_media_urls(self, rendered: RenderedPost) -> Iterator[Problem]:
        for number, media in enumerate(rendered.media):
            if why := self.describe_media_problem(media.url):
                field = rendered.source.field_path(f"media[{number}].url")
                yield Problem(Severity.ERROR, field, f"{media.url} cannot be fetched: {why}.")
