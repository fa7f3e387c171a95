"""Whatever file the API accepts as an import becomes posts that go out, fail or wait, and delays no post of others."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import Sequence
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from postino.publishing.csv_file import COLUMNS
from tests.engine.conftest import database_url
from tests.extremes.neighbours import Neighbourhood, open_and_work
from tests.extremes.values import INSTANTS, LOCALS, REFUSED_ZONES, TEXTS, ZONES, few
from tests.publishing.mastodon_server import add_account

__all__ = ["database_url"]

MALLORY = "mastodon:mallory"
NOW = "2031-01-01T00:00:00Z"
Row = dict[str, str]
CELLS: dict[str, list[str]] = {
    "text": [text for text in TEXTS if isinstance(text, str)] + ['"', "a\r\nb", "a\rb", ",;|\t", "=cmd|'/C calc'!A0"],
    "title": [text for text in TEXTS if isinstance(text, str)],
    "hashtags": ["#a #b", "#" * 500, "a," * 40, " ", "\x00", "|||", "x" * 501],
    "media": ["https://no-such-host.invalid/a.png", "https://no-such-host.invalid/" * 101, "file:///etc/passwd", "x"],
    "accounts": ["", MALLORY * 2, f"{MALLORY};{MALLORY}", f"{MALLORY}|nobody", "a;" * 101, "\x00", "mastodon:anna"],
    "at": [at for at in INSTANTS + LOCALS if isinstance(at, str)],
    "publish_until": [at for at in INSTANTS + LOCALS if isinstance(at, str)],
    "timezone": [zone for zone in ZONES + REFUSED_ZONES if isinstance(zone, str)],
    "first_comment": ["x", " "],
}
ROW: Row = {"text": "hello", "accounts": MALLORY, "at": NOW}
SINGLE = [{**ROW, "text": f"row {name} {n}", name: cell} for name, it in CELLS.items() for n, cell in enumerate(it)]
FILES = [
    b"", b"\xff\xfe", b"\xef\xbb\xbf", b"\x00" * 1000, b"text,accounts,at\n", b"text,accounts,at\n\xff,\xff,\xff\n",
    b"sep=\x01\ntext\x01accounts\x01at\n", b'text,accounts,at\n"' + b"x" * 200_000, b"," * 100_000,
    b"text,accounts,at\n" + b"\n" * 100_000, b"text,accounts,at\n" + b"x" * 200_000 + b",a,b\n", b"a" * 1_000_000,
    b"text,accounts,at" + b",title" * 90 + b"\n",
]  # fmt: skip


@st.composite
def extreme_rows(draw: st.DrawFn) -> Row:
    names = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=3, unique=True))
    return {**ROW, **{name: draw(st.sampled_from(CELLS[name])) for name in names}}


@few
@example(rows=SINGLE, files=FILES, timezone="Australia/Lord_Howe")
@given(
    rows=st.lists(extreme_rows(), min_size=10),
    files=st.lists(st.binary(max_size=200), max_size=5),
    timezone=st.sampled_from(
        [zone for zone in ZONES + REFUSED_ZONES if isinstance(zone, str) and "\ud800" not in zone]
    ),
)
def test_accepted_imports_stop_nobody(
    database_url: str, tmp_path: Path, rows: list[Row], files: list[bytes], timezone: str
) -> None:
    asyncio.run(import_beside_others(database_url, tmp_path, rows, files, timezone))


async def import_beside_others(url: str, folder: Path, rows: list[Row], files: list[bytes], timezone: str) -> None:
    async with open_and_work(url, folder) as hood:
        await add_account(hood.app, "mallory", hood.server.url, "mallory")
        for file in [*files, write_file(rows)]:
            await save_file(hood, file, timezone)
        status, _ = await hood.api.ask("POST", "/v1/imports", write_file([]), timezone="Nowhere")
        assert status == 422
        await hood.check_neighbours()
        posts = [post["id"] for post in await hood.api.list_all("/v1/posts", limit="200", account=MALLORY)]
        for post_id in posts:
            assert (await hood.api.ask("POST", f"/v1/posts/{post_id}/publish-now", {"allow_blackout": True}))[0] < 500
        await hood.wait_for_all(posts)
        await hood.read_everything(posts)
        await hood.settle_all(posts)
        await hood.check_neighbours()


async def save_file(hood: Neighbourhood, file: bytes, timezone: str) -> None:
    """Check a file and, if it was read, save it; the counts add up."""
    status, checked = await hood.api.ask("POST", "/v1/imports", file, timezone=timezone)
    if status != 200:
        assert status in (400, 413, 422), checked
        return
    status, saved = await hood.api.ask("POST", "/v1/imports", file, commit="true", token=checked["token"])
    if not file:
        return
    assert status == 201, saved
    assert saved == await hood.api.get(f"/v1/imports/{saved['id']}")
    assert (saved["state"], saved["processed_rows"]) == ("saved", checked["rows"])
    assert saved["invalid_rows"] == checked["invalid_rows"], (checked, saved)


def write_file(rows: Sequence[Row]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode(errors="surrogatepass")
