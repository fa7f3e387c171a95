"""Import posts from a CSV file: check it first, then save its valid rows in batches.

Each row is one content for some accounts at a time. Invalid rows are reported and do not stop the others.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

from postino.errors import Conflict
from postino.publishing.csv_file import CsvProblem, parse_csv
from postino.publishing.half_time import HalfTime
from postino.publishing.import_rows import CheckedRow, RowChecker
from postino.publishing.post_builder import build_content, build_key, build_posts
from postino.publishing.post_validation import PostValidator
from postino.stores.store import Store
from postino.values.content import Severity
from postino.values.imports import Import, ImportedRow
from postino.values.job import new_id
from postino.values.post import StoredAccount

BATCH_ROWS = 100  # rows in one transaction
MAX_REPORTED = 1_000  # problems
MAX_CONCURRENT = 1  # files that are parsed
P = ParamSpec("P")
T = TypeVar("T")


class Importer:
    def __init__(self, store: Store, validator: PostValidator) -> None:
        self.store = store
        self.checker = RowChecker(validator)
        self.slots = asyncio.Semaphore(MAX_CONCURRENT)
        self.half_time = HalfTime()

    async def check(
        self, file: bytes, timezone: str | None, accounts: Mapping[str, StoredAccount], caller: str, author: str
    ) -> Import:
        """Check a file and store it with its problems. No post is created; the result's token allows to save it."""
        async with self.half_time.turn(caller):
            rows, token, problems = await self.run_in_thread(self.check_file, file, timezone, accounts)
        new = Import(
            id=new_id(), caller=caller, author=author, token=token, file=file, timezone=timezone, rows=rows,
            problems=problems,
        )  # fmt: skip
        return await self.store.save_import(new)

    async def run_in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` outside the event loop, one file at a time, so that other work finds free threads."""
        async with self.slots:
            return await asyncio.to_thread(work, *args, **kwargs)

    def check_file(
        self, file: bytes, timezone: str | None, accounts: Mapping[str, StoredAccount]
    ) -> tuple[int, str, str]:
        """Return the number of rows, the file's token, and its problems as JSON."""
        rows, problems = parse_csv(file)
        checked = self.checker.check_rows(rows, timezone, accounts)
        problems = [*problems, *(problem for row in checked for problem in row.problems), *find_duplicates(checked)]
        ordered = [problem.to_dict() for problem in sorted(problems, key=lambda problem: problem.line)]
        return len(rows), compute_token(file, timezone), dump_problems(ordered, count_posts(checked))

    async def save(self, known: Import, accounts: Mapping[str, StoredAccount], author: str) -> Import:
        """Create the posts of a checked file. A repeated call continues where the last one stopped."""
        while known.state != "saved":
            rows, problems = await self.run_in_thread(parse_csv, known.file)
            rest = await self.run_in_thread(
                self.checker.check_rows, rows[known.processed_rows :], known.timezone, accounts
            )
            before = (
                json.loads(known.problems)["problems"]
                if known.processed_rows
                else [each.to_dict() for each in problems]
            )
            saved_lines = {row.number for row in rows[: known.processed_rows]} | {1}
            kept = [problem for problem in before if not known.processed_rows or problem["line"] in saved_lines]
            known = await self.save_rest(known, rest, kept, author)
        return known

    async def save_rest(
        self, known: Import, rest: Sequence[CheckedRow], problems: Sequence[dict[str, Any]], author: str
    ) -> Import:
        problems = [*problems]
        for start in range(0, len(rest), BATCH_ROWS):
            batch = rest[start : start + BATCH_ROWS]
            problems += [problem.to_dict() for row in batch for problem in row.problems]
            async with self.half_time.turn(known.caller):
                is_saved = await self.save_batch(known, batch, problems, author)
            if not is_saved:
                return replace(await self.store.import_by_id(known.id), file=known.file)  # another process was faster
            known = replace(known, processed_rows=known.processed_rows + len(batch))
        return await self.store.finish_import(known.id, dump_problems(problems))

    async def save_batch(
        self, known: Import, batch: Sequence[CheckedRow], problems: list[dict[str, Any]], author: str
    ) -> bool:
        """Save rows in one transaction, or one by one if that is refused. False: another process was faster."""
        rows = await self.run_in_thread(lambda: [build_row(row, author) for row in batch if row.request is not None])
        processed = known.processed_rows + len(batch)
        try:
            return await self.store.save_import_rows(known, processed, dump_problems(problems), rows)
        except Conflict as refusal:
            if len(batch) == 1:
                problems.append(CsvProblem(batch[0].line, None, None, str(refusal)).to_dict())
                return await self.store.save_import_rows(known, processed, dump_problems(problems), [])
        for number, row in enumerate(batch):
            if not await self.save_batch(
                replace(known, processed_rows=known.processed_rows + number), [row], problems, author
            ):
                return False
        return True


def find_duplicates(checked: Sequence[CheckedRow]) -> list[CsvProblem]:
    """Return a warning for each row that would create the same post as an earlier one: it is created once."""
    first_lines: dict[tuple[str, str | None], int] = {}
    problems = []
    for row in checked:
        for preview in row.previews:
            assert row.request is not None
            key = (preview.account.id, build_key(row.request, preview.account))
            first = first_lines.setdefault(key, row.line)
            if first != row.line:
                message = f"{preview.account.id}: the same post as in line {first}; it is created once."
                problems.append(CsvProblem(row.line, None, None, message, Severity.WARNING))
    return problems


def count_posts(checked: Sequence[CheckedRow]) -> int:
    """Return how many posts the file would create; duplicates count once."""
    return len(
        {
            (preview.account.id, build_key(row.request, preview.account))
            for row in checked
            if row.request
            for preview in row.previews
        }
    )


def build_row(row: CheckedRow, author: str) -> ImportedRow:
    assert row.request is not None
    request = replace(row.request, user_id=author)
    built = build_posts(request, row.previews)
    content = build_content(request, [preview.account for preview in row.previews])
    return ImportedRow(content, [post for post, _ in built], [job for _, job in built])


def compute_token(file: bytes, timezone: str | None) -> str:
    """Return the token under which this file, read in this time zone, can be saved."""
    return hashlib.sha256(f"{timezone or ''}\n".encode() + file).hexdigest()


def dump_problems(problems: Sequence[dict[str, Any]], posts: int | None = None) -> str:
    """Return the problems as stored. `posts` is how many the file would create; None once it is being saved."""
    lines = {problem["line"] for problem in problems if problem["severity"] == Severity.ERROR}
    report = {
        "invalid_rows": len(lines),
        "problems": problems[:MAX_REPORTED],
        "more": max(0, len(problems) - MAX_REPORTED),
        "posts": posts,
    }
    return json.dumps(report, ensure_ascii=False)
