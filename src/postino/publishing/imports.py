"""Posts from a CSV file: each row one content for some accounts at a time. Wrong rows are told, the others saved."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, ParamSpec, TypeVar

from postino.errors import Conflict, WrongUse
from postino.publishing.csv_file import CsvProblem, CsvRow, read, split, words
from postino.publishing.posts import PostPreview, PostRequest, PostService, check_times, content_of, key_of, posts_of
from postino.publishing.suggestions import AccountSuggestions
from postino.rules.local_time import parse_at
from postino.stores.store import Store
from postino.values.content import Content, MediaRef, Severity
from postino.values.imports import Import, NewRow
from postino.values.job import new_id
from postino.values.post import StoredAccount

TOGETHER = 100  # rows in one transaction
MOST_TOLD = 1_000  # faults
MOST_ACCOUNTS = 100  # of one row
MOST_UNKNOWN = 10  # of one row are told by name
AT_ONCE = 1  # files that are looked at
NO_TIME = "at is missing: a time such as 2026-03-29T14:30, local to `timezone`, or with an offset."
OR_NOW, GIVE_ANOTHER = "Leave it out to publish now.", "Give a time that is ahead."
NO_TEXT = "text: there is nothing to publish: write a text, or name a picture in the column media."
NO_COMMENTS = "Postino does not write first comments yet. Leave the column empty."
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CheckedRow:
    """A row and what it would make; None: nothing, because of its faults."""

    line: int
    wish: PostRequest | None
    previews: Sequence[PostPreview]
    faults: Sequence[CsvProblem]


class Importer:
    def __init__(self, store: Store, posts: PostService) -> None:
        self.store = store
        self.posts = posts
        self.room = asyncio.Semaphore(AT_ONCE)

    async def check(
        self, file: bytes, timezone: str | None, known: Mapping[str, StoredAccount], caller: str, author: str
    ) -> Import:
        """Nothing but what is wrong with the file comes of it, and a token under which this very file can be saved."""
        rows, token, faults = await self.aside(self.checked, file, timezone, known)
        new = Import(
            id=new_id(), caller=caller, author=author, token=token, file=file, timezone=timezone, rows=rows,
            faults=faults,
        )  # fmt: skip
        return await self.store.save_import(new)

    async def aside(self, work: Callable[P, T], *args: P.args, **said: P.kwargs) -> T:
        """Beside the loop, and few at once: whoever else needs a thread does not wait behind files."""
        async with self.room:
            return await asyncio.to_thread(work, *args, **said)

    def checked(self, file: bytes, timezone: str | None, known: Mapping[str, StoredAccount]) -> tuple[int, str, str]:
        lines, faults = read(file)
        judged = self.judge_all(lines, timezone, known)
        faults = [*faults, *(fault for row in judged for fault in row.faults), *twins(judged)]
        return len(lines), token_of(file, timezone), told(faults, number_of(judged))

    async def save(self, known: Import, accounts: Mapping[str, StoredAccount], author: str) -> Import:
        """Goes on where it stands, so that it may be asked for again whatever happened the first time."""
        while known.state != "saved":
            lines, faults = await self.aside(read, known.file)
            rest = await self.aside(self.judge_all, lines[known.looked :], known.timezone, accounts)
            before = json.loads(known.faults)["faults"] if known.looked else [fault.told for fault in faults]
            there = {line.number for line in lines[: known.looked]}
            kept = [fault for fault in before if not known.looked or fault["line"] in there or fault["line"] == 1]
            known = await self.save_rest(known, rest, kept, author)
        return known

    async def save_rest(
        self, known: Import, rest: Sequence[CheckedRow], faults: Sequence[dict[str, Any]], author: str
    ) -> Import:
        faults = [*faults]
        for start in range(0, len(rest), TOGETHER):
            batch = rest[start : start + TOGETHER]
            faults += [fault.told for row in batch for fault in row.faults]
            if not await self.save_batch(known, batch, faults, author):
                return await self.store.import_by_id(known.id)
            known = replace(known, looked=known.looked + len(batch))
        return await self.store.finish_import(known.id, told_as(faults))

    async def save_batch(
        self, known: Import, batch: Sequence[CheckedRow], faults: list[dict[str, Any]], author: str
    ) -> bool:
        rows = await self.aside(lambda: [new_row(row, author) for row in batch if row.wish is not None])
        upto = known.looked + len(batch)
        try:
            return await self.store.save_import_rows(known, upto, told_as(faults), rows)
        except Conflict as refusal:
            if len(batch) == 1:
                faults.append(CsvProblem(batch[0].line, None, None, str(refusal)).told)
                return await self.store.save_import_rows(known, upto, told_as(faults), [])
        for number, row in enumerate(batch):
            if not await self.save_batch(replace(known, looked=known.looked + number), [row], faults, author):
                return False
        return True

    def judge_all(
        self, lines: Sequence[CsvRow], timezone: str | None, known: Mapping[str, StoredAccount]
    ) -> list[CheckedRow]:
        now, unknown = datetime.now(UTC), AccountSuggestions(known)
        return [self.judge(line, timezone, known, now, unknown) for line in lines]

    def judge(
        self,
        line: CsvRow,
        timezone: str | None,
        known: Mapping[str, StoredAccount],
        now: datetime,
        unknown: AccountSuggestions,
    ) -> CheckedRow:
        faults = [*line.faults]

        content, at, until_at = Content(), None, None
        try:
            content = said_in(line)
        except WrongUse as refusal:
            faults.append(line.fault(column_of(refusal.field), str(refusal)))
        try:
            at = time_of(line, "at", timezone)
            if at is None:
                faults.append(line.fault("at", NO_TIME))
            until_at = time_of(line, "publish_until", timezone)
            check_times(PostRequest(content=content, accounts=(), at=at, publish_until_at=until_at), now)
        except WrongUse as refusal:
            faults.append(line.fault(column_of(refusal.field), str(refusal).replace(OR_NOW, GIVE_ANOTHER)))
        if line.values.get("first_comment"):
            faults.append(line.fault("first_comment", NO_COMMENTS))
        names = [*dict.fromkeys(split(line.values.get("accounts", "")))]
        if len(names) <= MOST_ACCOUNTS:
            faults += strangers(line, [name for name in names if name not in known], unknown)
        previews = self.previews(line, content, names, known, faults)
        if not previews and not (content.body.strip() or content.media or line.faults):
            faults.append(line.fault("text", NO_TEXT))
        if any(fault.severity is Severity.ERROR for fault in faults):
            return CheckedRow(line.number, None, (), faults)
        wish = PostRequest(content=content, accounts=tuple(names), at=at, publish_until_at=until_at)
        return CheckedRow(line.number, wish, previews, faults)

    def previews(
        self,
        line: CsvRow,
        content: Content,
        names: Sequence[str],
        known: Mapping[str, StoredAccount],
        faults: list[CsvProblem],
    ) -> Sequence[PostPreview]:
        if not names:
            faults.append(line.fault("accounts", "accounts: name at least one account that publishes it."))
        if len(names) > MOST_ACCOUNTS:
            told = f"accounts: {len(names):,} are too many for one row, {MOST_ACCOUNTS} are the most."
            faults.append(line.fault("accounts", told))
            return []
        accounts = []
        for name in names:
            if name not in known:
                continue
            try:
                accounts.append(self.posts.publishes(known[name]))
            except WrongUse as refusal:
                faults.append(line.fault("accounts", str(refusal)))
        previews = self.posts.previewed(content, accounts)
        for preview in previews:
            for problem in preview.problems:
                told = f"{preview.account.id}: {problem.message}"
                faults.append(line.fault(column_of(problem.field), told, problem.severity))
        return previews


def strangers(line: CsvRow, names: Sequence[str], unknown: AccountSuggestions) -> list[CsvProblem]:
    """Names that no account has; of very many in one row the first are told."""
    found = [line.fault("accounts", unknown.told(name)) for name in names[:MOST_UNKNOWN]]
    if len(names) > MOST_UNKNOWN:
        found.append(line.fault("accounts", f"{len(names) - MOST_UNKNOWN} more of these accounts are not there."))
    return found


def said_in(line: CsvRow) -> Content:
    values = line.values
    return Content(
        body=values.get("text", ""),
        title=values.get("title") or None,
        hashtags=tuple(words(values.get("hashtags", ""))),
        media=tuple(MediaRef(url=url) for url in words(values.get("media", ""))),
    )


def time_of(line: CsvRow, field: str, timezone: str | None) -> datetime | None:
    text = line.values.get(field, "").strip()
    if not text:
        return None
    try:
        return parse_at(text, line.values.get("timezone", "").strip() or timezone).at
    except WrongUse as refusal:
        zoned = refusal.field == "timezone" and "timezone" in line.values  # a column that is not there is not to blame
        raise WrongUse(str(refusal), "timezone" if zoned else field) from refusal


def column_of(field: str | None) -> str:
    """The column that is to blame: `media` for `media[0].url`."""
    return (field or "text").partition("[")[0].partition(".")[0]


def twins(judged: Sequence[CheckedRow]) -> list[CsvProblem]:
    """Rows that say the same as one before them: they are one post, and nothing is made twice."""
    seen: dict[tuple[str, str | None], int] = {}
    found = []
    for row in judged:
        for preview in row.previews:
            assert row.wish is not None
            key = (preview.account.id, key_of(row.wish, preview.account))
            first = seen.setdefault(key, row.line)
            if first != row.line:
                message = f"{preview.account.id}: the same as line {first}; it is made once."
                found.append(CsvProblem(row.line, None, None, message, Severity.WARNING))
    return found


def new_row(row: CheckedRow, author: str) -> NewRow:
    assert row.wish is not None
    wish = replace(row.wish, user_id=author)
    made = posts_of(wish, row.previews)
    return NewRow(content_of(wish, row.previews[0].account.brand), [post for post, _ in made], [job for _, job in made])


def token_of(file: bytes, timezone: str | None) -> str:
    return hashlib.sha256(f"{timezone or ''}\n".encode() + file).hexdigest()


def number_of(judged: Sequence[CheckedRow]) -> int:
    """How many posts would come of it: what is said twice is one."""
    return len({(it.account.id, key_of(row.wish, it.account)) for row in judged if row.wish for it in row.previews})


def told(faults: Sequence[CsvProblem], posts: int) -> str:
    ordered = sorted(faults, key=lambda fault: fault.line)
    return told_as([fault.told for fault in ordered], posts)


def told_as(faults: Sequence[dict[str, Any]], posts: int | None = None) -> str:
    """How many `posts` would come of a file is told until some have."""
    bad = {fault["line"] for fault in faults if fault["severity"] == Severity.ERROR}
    text = {"bad": len(bad), "faults": faults[:MOST_TOLD], "more": max(0, len(faults) - MOST_TOLD), "posts": posts}
    return json.dumps(text, ensure_ascii=False)
