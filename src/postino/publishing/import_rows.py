"""Check the rows of an imported file: parse times, find accounts, and validate the content for each network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from postino import clock
from postino.errors import WrongUse
from postino.publishing.csv_file import CsvProblem, CsvRow, split_list, split_words
from postino.publishing.post_request import PostRequest, check_times
from postino.publishing.post_validation import PostPreview, PostValidator
from postino.publishing.suggestions import AccountSuggestions
from postino.rules.local_time import parse_time
from postino.values.content import Content, MediaRef, Severity
from postino.values.post import StoredAccount

MAX_ACCOUNTS = 100  # of one row
MAX_UNKNOWN = 10  # unknown accounts of one row that are reported by name
NO_TIME = "at is missing: a time such as 2026-03-29T14:30, local to `timezone`, or with an offset."
PUBLISH_NOW_ADVICE, FUTURE_TIME_ADVICE = "Leave it out to publish now.", "Give a time in the future."
NO_ACCOUNTS = "accounts: name at least one account."
NO_TEXT = "text: there is nothing to publish: write a text, or name a picture in the column media."
NO_COMMENTS = "Postino does not write first comments yet. Leave the column empty."


@dataclass(frozen=True, slots=True)
class CheckedRow:
    """A row and the request it becomes; None if a problem of the row is an error."""

    line: int
    request: PostRequest | None
    previews: Sequence[PostPreview]
    problems: Sequence[CsvProblem]


class RowChecker:
    def __init__(self, validator: PostValidator) -> None:
        self.validator = validator

    def check_rows(
        self, rows: Sequence[CsvRow], timezone: str | None, accounts: Mapping[str, StoredAccount]
    ) -> list[CheckedRow]:
        now, suggestions = clock.now(), AccountSuggestions(accounts)
        return [self.check_row(row, timezone, accounts, now, suggestions) for row in rows]

    def check_row(
        self,
        row: CsvRow,
        timezone: str | None,
        accounts: Mapping[str, StoredAccount],
        now: datetime,
        suggestions: AccountSuggestions,
    ) -> CheckedRow:
        problems = [*row.problems]

        content, at, until_at = Content(), None, None
        try:
            content = to_content(row)
        except WrongUse as refusal:
            problems.append(row.report(find_column(refusal.field), str(refusal)))
        try:
            at = parse_row_time(row, "at", timezone)
            if at is None:
                problems.append(row.report("at", NO_TIME))
            until_at = parse_row_time(row, "publish_until", timezone)
            check_times(PostRequest(content=content, accounts=(), at=at, publish_until_at=until_at), now)
        except WrongUse as refusal:
            message = str(refusal).replace(PUBLISH_NOW_ADVICE, FUTURE_TIME_ADVICE)
            problems.append(row.report(find_column(refusal.field), message))
        if row.values.get("first_comment"):
            problems.append(row.report("first_comment", NO_COMMENTS))
        names = [*dict.fromkeys(split_list(row.values.get("accounts", "")))]
        if len(names) <= MAX_ACCOUNTS:
            problems += report_unknown(row, [name for name in names if name not in accounts], suggestions)
        previews = self.preview_row(row, content, names, accounts, problems)
        if not previews and not (content.body.strip() or content.media or row.problems):
            problems.append(row.report("text", NO_TEXT))
        if any(problem.severity is Severity.ERROR for problem in problems):
            return CheckedRow(row.number, None, (), problems)
        request = PostRequest(content=content, accounts=tuple(names), at=at, publish_until_at=until_at)
        return CheckedRow(row.number, request, previews, problems)

    def preview_row(
        self,
        row: CsvRow,
        content: Content,
        names: Sequence[str],
        known: Mapping[str, StoredAccount],
        problems: list[CsvProblem],
    ) -> Sequence[PostPreview]:
        """Return a preview for each known account, and add what is wrong to `problems`."""
        if not names:
            problems.append(row.report("accounts", NO_ACCOUNTS))
        if len(names) > MAX_ACCOUNTS:
            message = f"accounts: one row may name at most {MAX_ACCOUNTS} accounts; this one names {len(names):,}."
            problems.append(row.report("accounts", message))
            return []
        accounts = []
        for name in names:
            if name not in known:
                continue
            try:
                accounts.append(self.validator.check_account(known[name]))
            except WrongUse as refusal:
                problems.append(row.report("accounts", str(refusal)))
        previews = self.validator.preview_content(content, accounts)
        for preview in previews:
            for problem in preview.problems:
                message = f"{preview.account.id}: {problem.message}"
                problems.append(row.report(find_column(problem.field), message, problem.severity))
        return previews


def report_unknown(row: CsvRow, names: Sequence[str], suggestions: AccountSuggestions) -> list[CsvProblem]:
    """Return a problem for each of the first unknown accounts, and one for all others."""
    problems = [row.report("accounts", suggestions.describe(name)) for name in names[:MAX_UNKNOWN]]
    if len(names) > MAX_UNKNOWN:
        message = f"{len(names) - MAX_UNKNOWN} more of these accounts do not exist."
        problems.append(row.report("accounts", message))
    return problems


def to_content(row: CsvRow) -> Content:
    values = row.values
    return Content(
        body=values.get("text", ""),
        title=values.get("title") or None,
        hashtags=tuple(split_words(values.get("hashtags", ""))),
        media=tuple(MediaRef(url=url) for url in split_words(values.get("media", ""))),
    )


def parse_row_time(row: CsvRow, field: str, timezone: str | None) -> datetime | None:
    """Return the time in this column, or None if it is empty. The row's time zone goes before that of the file."""
    text = row.values.get(field, "").strip()
    if not text:
        return None
    try:
        return parse_time(text, row.values.get("timezone", "").strip() or timezone).at
    except WrongUse as refusal:
        in_timezone = refusal.field == "timezone" and "timezone" in row.values  # blame no column that is not there
        raise WrongUse(str(refusal), "timezone" if in_timezone else field) from refusal


def find_column(field: str | None) -> str:
    """Return the column of a field: `media` for `media[0].url`."""
    return (field or "text").partition("[")[0].partition(".")[0]
