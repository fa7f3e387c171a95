"""Find every problem of a post at once, where creating it would stop at the first."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from postino.api.models import MAX_ACCOUNTS, PostBody
from postino.api.parsing import check_account_count, parse_content, parse_time
from postino.api.views.fields import to_json
from postino.api.views.posts import render_preview, render_problems
from postino.client.types.posts import AccountProblemView, ValidationResultView
from postino.errors import WrongUse
from postino.publishing.post_request import PAST_TOLERANCE, PostRequest, check_until
from postino.publishing.post_validation import PostPreview, PostValidator
from postino.publishing.suggestions import AccountSuggestions
from postino.rules.local_time import format_time
from postino.values.content import Content, Severity
from postino.values.post import StoredAccount
from postino.wiring import Postino

T = TypeVar("T")


async def validate(app: Postino, body: PostBody, known: dict[str, StoredAccount]) -> ValidationResultView:
    """Return whether the post could be created, its problems, and how it would look on each account."""
    problems: list[AccountProblemView] = []
    notes: list[str] = []
    content = collect(problems, lambda: app.post_validator.check_networks(parse_content(body)))
    at = collect(problems, lambda: parse_time(body.at, body.timezone, "at", notes))
    until_at = collect(problems, lambda: parse_time(body.publish_until, body.timezone, "publish_until", notes))
    collect(problems, lambda: check_account_count(body.accounts))
    if at is not None and at < datetime.now(UTC) - PAST_TOLERANCE:
        problems.append(render_error("at", f"at: {format_time(at)} has passed. Leave it out to publish now."))
    request = PostRequest(content=content or Content(), accounts=(), at=at, publish_until_at=until_at)
    collect(problems, lambda: check_until(request, datetime.now(UTC)))
    previews: Sequence[PostPreview] = []
    if content is not None:
        accounts = find_accounts(app.post_validator, body.accounts, known, problems)
        previews = await app.post_validator.turns.run(lambda: app.post_validator.preview_content(content, accounts))
    if not body.allow_blackout and body.at is None:
        problems += [render_error("at", message) for message in await app.posts.describe_objections(request, previews)]
    problems += render_problems(previews)
    valid = not any(one["severity"] == "error" for one in problems)
    return {"valid": valid, "problems": problems, "posts": [*map(render_preview, previews)], "notes": notes}


def find_accounts(
    validator: PostValidator, names: Sequence[str], known: dict[str, StoredAccount], problems: list[AccountProblemView]
) -> list[StoredAccount]:
    """Return the accounts that exist, each once; the others become problems."""
    accounts, suggestions = [], AccountSuggestions(known)
    for number, name in enumerate(names[:MAX_ACCOUNTS]):
        if name in names[:number]:
            continue
        if name not in known:
            problems.append(render_error("accounts", f"accounts[{number}]: {suggestions.describe(name)}"))
        elif account := collect(problems, lambda name=name: validator.check_account(known[name])):  # type: ignore[misc]
            accounts.append(account)
    return accounts


def collect(problems: list[AccountProblemView], check: Callable[[], T]) -> T | None:
    """Return the result of a check; if it raises WrongUse, add the problem and return None."""
    try:
        return check()
    except WrongUse as error:
        problems.append(render_error(error.field, str(error)))
        return None


def render_error(field: str | None, message: str) -> AccountProblemView:
    return {"account": None, "network": None, "severity": to_json(Severity.ERROR), "field": field, "message": message}
