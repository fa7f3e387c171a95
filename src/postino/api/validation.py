"""All that speaks against a post at once, where making it would stop at the first."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from postino.api.models import MOST_ACCOUNTS, PostBody
from postino.api.parsing import check_number, content_of, instant
from postino.api.views.posts import render_preview, render_problems
from postino.errors import WrongUse
from postino.publishing.post_request import PAST_TOLERANCE, PostRequest, check_until
from postino.publishing.post_validation import PostPreview, PostValidator
from postino.publishing.suggestions import AccountSuggestions
from postino.rules.local_time import format_time
from postino.values.content import Content, Severity
from postino.values.post import StoredAccount
from postino.wiring import Postino

T = TypeVar("T")
ProblemView = dict[str, Any]


async def judged(app: Postino, body: PostBody, known: dict[str, StoredAccount]) -> dict[str, Any]:
    """Whether it could be made as it is, its problems, and how it would look on each account."""
    faults: list[ProblemView] = []
    notes: list[str] = []
    content = tried(faults, lambda: app.post_validator.check_networks(content_of(body)))
    at = tried(faults, lambda: instant(body.at, body.timezone, "at", notes))
    until_at = tried(faults, lambda: instant(body.publish_until, body.timezone, "publish_until", notes))
    tried(faults, lambda: check_number(body.accounts))
    if at is not None and at < datetime.now(UTC) - PAST_TOLERANCE:
        faults.append(fault("at", f"at: {format_time(at)} has passed. Leave it out to publish now."))
    wish = PostRequest(content=content or Content(), accounts=(), at=at, publish_until_at=until_at)
    tried(faults, lambda: check_until(wish, datetime.now(UTC)))
    previews: Sequence[PostPreview] = []
    if content is not None:
        accounts = there(app.post_validator, body.accounts, known, faults)
        previews = await app.post_validator.turns.run(lambda: app.post_validator.preview_content(content, accounts))
    if not body.allow_blackout and body.at is None:
        faults += [fault("at", told) for told in await app.posts.describe_objections(wish, previews)]
    faults += render_problems(previews)
    valid = not any(one["severity"] == Severity.ERROR for one in faults)
    return {"valid": valid, "problems": faults, "posts": [*map(render_preview, previews)], "notes": notes}


def there(
    validator: PostValidator, names: Sequence[str], known: dict[str, StoredAccount], faults: list[ProblemView]
) -> list[StoredAccount]:
    """Those accounts that there are."""
    accounts, unknown = [], AccountSuggestions(known)
    for number, name in enumerate(names[:MOST_ACCOUNTS]):
        if name not in known:
            faults.append(fault("accounts", f"accounts[{number}]: {unknown.describe(name)}"))
        elif account := tried(faults, lambda name=name: validator.check_account(known[name])):  # type: ignore[misc]
            accounts.append(account)
    return accounts


def tried(faults: list[ProblemView], act: Callable[[], T]) -> T | None:
    try:
        return act()
    except WrongUse as refusal:
        faults.append(fault(refusal.field, str(refusal)))
        return None


def fault(field: str | None, message: str) -> ProblemView:
    return {"account": None, "network": None, "severity": Severity.ERROR.value, "field": field, "message": message}
