"""Write two years of posts directly into the tables, for benchmarks of lists and the calendar."""

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

import apsw
import asyncpg

from benchmarks.clients.words import make_text
from postino.publishing.contents import dump_content as written
from postino.publishing.post_payload import PostPayload
from postino.values.content import Content
from postino.values.post import POST

Record = dict[str, Any]
TOGETHER = 20_000
TEXTS = 20_000  # that differ; what is added to each tells the others apart
PAST, FUTURE = timedelta(days=550), timedelta(days=180)
BUSY_DAYS, BUSY_SHARE = 30, 0.15  # of all posts, in the busiest month
PLANNED_BEFORE = 14 * 86_400.0  # seconds at most
KEPT_AFTER = timedelta(days=5)  # before that they are among the finished ones
ENDS = (("completed", 0.94), ("failed", 0.97), ("cancelled", 1.0))
HERE = "what is written"  # texts have nothing in them that JSON writes otherwise
SAID = written(Content(body=HERE))
LETTER = json.dumps(asdict(PostPayload(parts=(HERE,))))
TABLES = ("contents", "posts", "jobs", "finished_jobs", "archived_jobs", "idempotency_keys")


@dataclass(frozen=True)
class Account:
    id: str
    network: str
    brand: str


def archive(count: int, accounts: Sequence[Account], now: datetime) -> Iterator[tuple[str, Record]]:
    """Return rows by table. Posts are in the order of their times; each content is for two accounts of a brand."""
    chosen = random.Random(7)
    texts = [make_text(number) for number in range(min(TEXTS, count))]
    for place, at in enumerate(sorted(instants(count // 2, now, chosen))):
        made_at = min(at, now) - timedelta(seconds=chosen.uniform(0, PLANNED_BEFORE))
        text, content_id = f"{texts[place % len(texts)]}{place}", id_at(made_at, 4 * place)
        yield "contents", {
            "id": content_id, "text": SAID.replace(HERE, text), "search_text": text.casefold(), "version": 1,
            "created_at": made_at, "brand": None, "user_id": None,
        }  # fmt: skip
        first = chosen.randrange(len(accounts))
        for step in (0, 1):
            account = accounts[(first + step * 20) % len(accounts)]
            post_id = id_at(made_at, 4 * place + step + 1)
            yield from post(account, post_id, content_id, text, at, made_at, now, chosen)


def post(
    account: Account, post_id: UUID, content_id: UUID, text: str, at: datetime, made_at: datetime, now: datetime,
    chosen: random.Random,
) -> Iterator[tuple[str, Record]]:  # fmt: skip
    lot = chosen.random()
    phase = "live" if at > now else next(end for end, share in ENDS if lot < share)
    key = f"{post_id.hex}{post_id.hex}"
    yield "posts", {
        "id": post_id, "content_id": content_id, "network": account.network, "account": account.id, "fingerprint": key,
        "brand": account.brand, "scheduled_at": at, "phase": phase, "created_at": made_at,
    }  # fmt: skip
    yield "idempotency_keys", {"channel": account.network, "key": key, "job_id": post_id}
    job: Record = {
        "id": post_id, "type": POST, "channel": account.network, "queue": 1, "account": account.id,
        "brand": account.brand, "idempotency_key": key, "payload": LETTER.replace(HERE, text).encode(),
        "scheduled_at": at, "run_at": at, "created_at": made_at,
    }  # fmt: skip
    if phase == "live":
        yield "jobs", job | {"state": "pending", "lane": account.id}
        return
    ended_at = at + timedelta(seconds=chosen.uniform(0.2, 20))
    ended = {
        "state": phase, "attempts": 1, "generation": 1, "rescues": 0, "deferrals": 0,
        "may_be_live": phase == "completed",
        "remote_id": f"at://{post_id}" if phase == "completed" else None, "superseded": False,
        "last_error": "The network refused it: too long." if phase == "failed" else None,
        "claimed_by": "worker", "claimed_at": at, "finished_at": ended_at,
    }  # fmt: skip
    yield ("finished_jobs" if ended_at > now - KEPT_AFTER else "archived_jobs"), job | ended


def instants(count: int, now: datetime, chosen: random.Random) -> list[datetime]:
    """Return the scheduled times: over two years, with more posts in the current month."""
    whole = (PAST + FUTURE).total_seconds()
    busy = int(count * BUSY_SHARE)
    usual = [now - PAST + timedelta(seconds=chosen.uniform(0, whole)) for _ in range(count - busy)]
    return usual + [now + timedelta(seconds=chosen.uniform(-0.5, 0.5) * BUSY_DAYS * 86_400) for _ in range(busy)]


def id_at(made_at: datetime, number: int) -> UUID:
    """Return an id as Postino makes them: ordered by time."""
    return UUID(int=int(made_at.timestamp() * 1000) << 80 | 0x7 << 76 | 0x2 << 62 | number)


async def fill(url: str, count: int, accounts: Sequence[Account]) -> None:
    """Drop the indexes and create them at the end, which is faster than updating them."""
    rows = archive(count, accounts, datetime.now(UTC))
    if url.startswith("sqlite"):
        fill_sqlite(Path(url.removeprefix("sqlite:///")), rows)
    else:
        await fill_postgres(url, rows)


def in_batches(rows: Iterable[tuple[str, Record]]) -> Iterator[tuple[str, list[Record]]]:
    iterator = iter(rows)
    while chunk := list(islice(iterator, TOGETHER)):
        for table in TABLES:
            if batch := [row for name, row in chunk if name == table]:
                yield table, batch


async def fill_postgres(url: str, rows: Iterable[tuple[str, Record]]) -> None:
    connection = await asyncpg.connect(url, command_timeout=600)
    try:
        indexes = await connection.fetch(
            "SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index"
            " WHERE indrelid = 'postino.posts'::regclass AND NOT indisprimary"
        )
        for index in indexes:
            await connection.execute(f"DROP INDEX {index['name']}")
        await connection.execute("SET session_replication_role = replica")  # the phases are written with the posts
        for table, batch in in_batches(rows):
            names = list(batch[0])
            values = [tuple(row[name] for name in names) for row in batch]
            await connection.copy_records_to_table(table, schema_name="postino", columns=names, records=values)
        await connection.execute("SET session_replication_role = origin")
        for index in indexes:
            await connection.execute(index["definition"])
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()


def fill_sqlite(path: Path, rows: Iterable[tuple[str, Record]]) -> None:
    connection = apsw.Connection(str(path))
    try:
        connection.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000")
        indexes = [*connection.execute(
            "SELECT name, sql FROM sqlite_master"
            " WHERE type = 'index' AND tbl_name = 'postino_posts' AND sql IS NOT NULL"
        )]  # fmt: skip
        for name, _ in indexes:
            connection.execute(f"DROP INDEX {name}")
        for table, batch in in_batches(rows):
            names = list(batch[0])
            marks = ", ".join("?" * len(names))
            with connection:
                columns = [plain([row[name] for row in batch]) for name in names]
                connection.executemany(
                    f"INSERT INTO postino_{table} ({', '.join(names)}) VALUES ({marks})", zip(*columns, strict=True)
                )
        with connection:
            for _, definition in indexes:
                connection.execute(definition)
        connection.execute("ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


def plain(column: list[Any]) -> list[Any]:
    """Return the value as SQLite stores it; all instants are in UTC."""
    match column[0]:
        case datetime():
            return [f"{at.isoformat(timespec='microseconds')[:-6]}Z" for at in column]
        case UUID():
            return [*map(str, column)]
        case _:
            return column
