"""How answers look in a terminal and elsewhere."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from postino import Postino, Reject, Retry
from postino.cli import output
from postino.cli.post_terminal_table import choose_layout
from postino.engine.claims import Claims
from postino.publishing.post_request import PostRequest
from postino.rules.retry import RetryPolicy
from postino.rules.settlement import settle_job
from postino.stores.records import SettledJob, WorkerInfo
from postino.values.content import Content
from postino.values.job import new_id
from tests.cli.local_queue import LocalQueue
from tests.cli.terminal import run_in_terminal

COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-9]m")


@pytest.mark.parametrize(
    ("seconds", "message"),
    [(0, "0 s ago"), (-1, "1 s ago"), (59, "in 59 s"), (300, "in 5 min"), (-7200, "2 h ago"), (200_000, "in 2 d")],
)
def test_format_distance(seconds: int, message: str) -> None:
    assert output.format_distance(timedelta(seconds=seconds)) == message


def test_instants_are_utc_to_the_second() -> None:
    assert output.format_instant(datetime(2026, 3, 1, 9, 5, 7, 999_999, tzinfo=UTC)) == "2026-03-01T09:05:07Z"


def test_narrow_terminal_drops_least_needed_columns() -> None:
    columns = ("ID", "STATE", "QUEUE", "TYPE", "CHANNEL", "ATTEMPTS", "RUN_AT", "LAST_ERROR")
    row = (str(new_id()), "pending", "default", "post", "instagram", 1, datetime.now(UTC), "x" * 200)
    assert [columns[index] for index in output.choose_columns(columns, [row], 200)] == list(columns)
    assert [columns[index] for index in output.choose_columns(columns, [row], 80)] == [
        "ID",
        "STATE",
        "RUN_AT",
        "LAST_ERROR",
    ]
    calm = (*row[:-1], None)
    assert [columns[index] for index in output.choose_columns(columns, [calm], 80)] == ["ID", "STATE", "TYPE", "RUN_AT"]


def test_list_at_80_columns_has_one_line_per_job(local_queue: LocalQueue) -> None:
    failed, waiting = (
        local_queue.add_settled_job(Reject("The caption " + "is too long " * 20)),
        local_queue.enqueue("a.very.long.type"),
    )
    lines = [COLOURS.sub("", line).rstrip() for line in run_in_terminal("jobs", "list").splitlines()]
    shown = [line for line in lines if line[1:].startswith(("ID", str(failed.id), str(waiting.id)))]
    assert [line.split()[:3] for line in shown] == [
        ["ID", "STATE", "RUN_AT"],
        [str(waiting.id), "pending", output.format_instant(waiting.run_at or waiting.created_at)],
        [str(failed.id), "failed", "-"],
    ]
    assert shown[2].endswith("…")
    assert max(map(len, lines)) <= 80


def test_terminal_shows_local_time(local_queue: LocalQueue) -> None:
    at = datetime(2035, 6, 1, 12, 0, tzinfo=UTC)
    local_queue.enqueue(at=at)
    assert " 2035-06-01 14:00 CEST" in COLOURS.sub("", run_in_terminal("jobs", "list", TZ="Europe/Rome"))


def test_dead_letter_in_terminal_ends_with_next_steps(local_queue: LocalQueue, folder: Path) -> None:
    busy, wrong = local_queue.add_settled_job(Retry("busy")), local_queue.add_settled_job(Reject("no"))
    for job, replays in ((busy, [""]), (wrong, [" --payload JSON", " --force"])):
        result = run_in_terminal("dead", "show", str(job.id), "--data-dir", str(folder)).splitlines()
        steps = [f"dead replay {job.id}{how}" for how in replays] + [f"dead discard {job.id} --reason WHY"]
        results = [line.partition("postino ")[2] for line in result[-len(steps) :]]
        assert results == [f"{step} --data-dir {folder}" for step in steps]


@pytest.mark.slow
def test_up_prints_urls_and_commands_to_copy(folder: Path) -> None:
    result = run_in_terminal("up", "--port", "0", "--data-dir", str(folder), until="Ctrl-C").splitlines()
    text = dict(re.findall(r"  (\w[\w ]+?)  +(\S+)", "\n".join(result)))
    assert text["Log"] == str(folder / "postino.log")
    assert text["API key"] == (folder / "api.key").read_text().strip()
    assert text["Dashboard"].endswith(f"/#key={text['API key']}")
    assert len(result) <= 20
    commands = [line.strip() for line in result if "postino post" in line]
    assert len(commands) == 2
    assert [line for line in result if line.strip().startswith("curl ")]
    assert all(command.endswith(f" --data-dir {folder}") for command in commands)
    assert '"event": "worker.stopped"' in (folder / "postino.log").read_text()


HANDLE = "a.rather.long.handle.example.org"


@pytest.fixture
def posts(local_queue: LocalQueue) -> list[str]:
    """Create a failed job and a paused one."""

    async def make(app: Postino) -> list[str]:
        await app.accounts.add("bluesky", HANDLE, {"password": "x"})
        wish = PostRequest(content=Content(body="Many words " * 20), accounts=(f"bluesky:{HANDLE}",))
        [failed] = await app.posts.schedule(wish)
        worker = str(new_id())
        await app.store.register_worker(WorkerInfo(id=worker, host="elsewhere", pid=1))
        poll = await app.store.poll(worker)
        [job] = await Claims(app.store, time.monotonic).claim(worker, poll, 1, False)
        settlement = settle_job(job, Reject("The network says no " * 20), RetryPolicy(max_attempts=1), poll.now, 0)
        await app.store.settle([SettledJob(job, settlement)])
        await app.pause("brand", "acme")
        await app.accounts.add("mastodon", "b", {"access_token": "x"}, base_url="https://b.example", brand="acme")
        [kept] = await app.posts.schedule(PostRequest(content=Content(body="漢字 " * 40), accounts=("mastodon:b",)))
        return [str(failed.post.job.id), str(kept.post.job.id)]

    return local_queue.perform(make)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_post_list_cuts_texts_but_not_ids(posts: list[str], width: int) -> None:
    result = run_in_terminal("posts", "list", COLUMNS=str(width))
    lines = [COLOURS.sub("", line).rstrip() for line in result.splitlines()]
    each = 1 if width >= 120 else 2
    head, kept, failed = (" ".join(lines[start : start + each]) for start in (0, each, 2 * each))
    error = lines[3 * each]
    assert sorted(head.split()) == ["ACCOUNT", "ID", "STATUS", "TEXT", "WHEN_AT"]
    assert [kept.split()[0], failed.split()[0]] == [posts[1], posts[0]]
    for words in ("漢字", "scheduled deferred", "mastodon:b"):
        assert words in kept
    for words in ("Many w", " failed ", "bluesky:a.ra"):
        assert words in failed
    assert all(re.search(r"  20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", line) for line in (kept, failed))
    assert error.startswith("  The network says no The")
    assert error.endswith("…")
    assert max(map(cell_len, lines[: 3 * each + 1])) <= width
    assert "for a person" not in result


@given(room=st.integers(58, 300), status=st.integers(6, 30), account=st.integers(1, 60))
def test_post_list_never_exceeds_terminal_width(room: int, status: int, account: int) -> None:
    layout = choose_layout(room, status=status, account=account)
    assert sorted(name for widths in layout for name in widths) == ["account", "id", "status", "text", "when"]
    assert layout[0]["id"] == 36
    assert layout[-1]["text"] >= 18
    for widths, indent in zip(layout, (0, 2), strict=False):
        assert min(widths.values()) >= 6
        assert sum(widths.values()) + 2 * (len(widths) - 1) + indent <= room


def test_no_color_disables_colours(local_queue: LocalQueue, folder: Path) -> None:
    job = local_queue.add_settled_job(Reject("no"))
    shown = run_in_terminal("jobs", "list")
    assert str(job.id) in shown
    assert COLOUR.search(shown)
    plain = run_in_terminal("jobs", "list", NO_COLOR="1")
    assert str(job.id) in plain
    assert not COLOUR.search(plain)
