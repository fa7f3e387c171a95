"""`postino blackouts`, and `postino post` in one."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from postino.cli.weekdays import parse_days
from postino.errors import WrongUse
from postino.stores.records import JobFilter
from postino.values.job import State
from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue
from tests.cli.terminal import DEADLINE, read_from

NIGHT = ["--from", "22:00", "--to", "07:00", "--timezone", "Europe/Rome"]
ALWAYS = ["--all", "--from", "00:00", "--to", "00:00", "--timezone", "UTC"]
BRUNO = "bluesky:bruno"


@pytest.fixture
def bruno(local_queue: LocalQueue) -> str:
    local_queue.perform(lambda app: app.accounts.add("bluesky", "bruno", {"password": "x"}, brand="acme"))
    return BRUNO


def test_blackout_is_added_listed_and_removed(local_queue: LocalQueue, bruno: str, postino: Postino) -> None:
    added = postino("blackouts", "add", "--scope", "brand", "--brand", "acme", *NIGHT, "--days", "sun,sat", "--yes")
    assert added.code == 0, added
    assert added.rows[:2] == [
        "Nothing is published: Saturday and Sunday 22:00–07:00 Europe/Rome, for brand acme.",
        "The blackout delays no pending job.",
    ]
    [row] = postino("blackouts", "list").rows[1:]
    wanted, *rest = row.split()
    assert rest == ["brand", "acme", "22:00", "07:00", "Europe/Rome", "sun,sat", "-"]
    [fetch_items] = postino("blackouts", "list", "--json").json["data"]
    assert (fetch_items["id"], fetch_items["days"], fetch_items["brand"]) == (wanted, [0, 6], "acme")
    assert added.rows[-1].endswith(f"blackouts remove {wanted}")
    removed = postino("blackouts", "remove", wanted, "--reason", "over")
    assert (removed.code, removed.out.startswith("Removed: ")) == (0, True)
    assert local_queue.last_audit()[1:] == ("blackout.removed", f"blackout:{wanted}", "over")
    assert postino("blackouts", "remove", wanted).code == 3
    assert postino("blackouts", "remove", "this").code == 2


@pytest.mark.parametrize(
    ("words", "scope", "days"),
    [
        (["--account", BRUNO], "account", []),
        (["--channel", "instagram", "--days", "6,0"], "channel", [0, 6]),
        (["--brand", "acme", "--days", "Friday"], "brand", [5]),
        (["--scope", "all"], "all", []),
        (["--all"], "all", []),
        (["--account", "bruno"], "account", []),
    ],
)
def test_scope_is_derived_from_options(
    words: list[str], scope: str, days: list[int], bruno: str, postino: Postino
) -> None:
    added = postino("blackouts", "add", *words, *NIGHT, "--reason", "sleep", "--yes", "--json").json
    assert (added["scope"], added["days"], added["reason"], added["saved"]) == (scope, days, "sleep", True)
    assert postino("blackouts", "add", *words, *NIGHT, "--yes", "--json").code == 4


@pytest.mark.parametrize(
    ("words", "field", "message"),
    [
        (NIGHT, "scope", "one of --all, --channel, --brand and --account"),
        ([*NIGHT, "--brand", "a", "--channel", "instagram"], "scope", "Pass exactly one of --all"),
        ([*NIGHT, "--brand", "a", "--all"], "scope", "Pass exactly one of --all"),
        ([*NIGHT, "--scope", "brand", "--all"], "scope", "--scope 'brand' contradicts --all"),
        ([*NIGHT, "--scope", "planet"], "scope", "--scope is 'planet'. Use one of: all, channel"),
        ([*NIGHT, "--scope", "brand"], "brand", "--brand is missing. It is required with --scope 'brand'."),
        (
            [*NIGHT, "--scope", "all", "--brand", "a"],
            "brand",
            "--brand 'a' does not apply to --scope 'all'. Leave --brand out, or set --scope to 'brand'.",
        ),
        ([*NIGHT, "--channel", "instagrm"], "channel", "--channel: there is no channel 'instagrm'. Did you mean ins"),
        ([*NIGHT, "--all", "--days", "someday"], "days", "--days: 'someday' is not a day"),
        ([*NIGHT, "--all", "--timezone", "Europe/Rom"], "timezone", "Europe/Rome"),
        ([*NIGHT, "--all", "--from", "25:00"], "from", "--from is '25:00'. Write HH:MM"),
        (["--all", "--from", "22:00", "--timezone", "UTC"], "to", "--to is missing. Write HH:MM"),
        (["--all", "--from", "22:00", "--to", "23:00"], "timezone", "--timezone is missing"),
        ([*NIGHT, "--all"], "yes", "Pass --yes to save, or --dry-run to see the effect. Nothing was saved."),
    ],
)
def test_errors_name_options_and_nothing_is_saved(
    words: list[str], field: str, message: str, bruno: str, postino: Postino
) -> None:
    refused = postino("blackouts", "add", *words, "--json")
    assert (refused.code, refused.error["field"], refused.out) == (2, field, ""), refused
    assert message in refused.error["message"]
    assert postino("blackouts", "add", *words).code == 2
    assert postino("blackouts", "list", "--json").json["data"] == []


def test_unknown_account_is_rejected_with_suggestion(bruno: str, postino: Postino) -> None:
    refused = postino("blackouts", "add", *NIGHT, "--account", "bluesky:bruna", "--yes")
    assert (refused.code, refused.err) == (3, "Account 'bluesky:bruna' does not exist. Did you mean bluesky:bruno?\n")


def test_unknown_brand_is_saved_with_a_hint(bruno: str, postino: Postino) -> None:
    odd = postino("blackouts", "add", *NIGHT, "--brand", "acmee", "--yes")
    assert (odd.code, odd.err) == (0, "No account and no job has the brand acmee. Did you mean acme?\n")


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("mon-fri", [1, 2, 3, 4, 5]),
        ("fri-mon", [0, 1, 5, 6]),
        ("Saturday, SUN", [0, 6]),
        ("6,0", [0, 6]),
        ("1-3,friday", [1, 2, 3, 5]),
        ("Tuesday-4", [2, 3, 4]),
        ("sun-sat", [0, 1, 2, 3, 4, 5, 6]),
        ("wed-wed", [3]),
    ],
)
def test_days_are_names_numbers_or_ranges(text: str, days: list[int]) -> None:
    assert parse_days(text) == days


@pytest.mark.parametrize("part", ["someday", "monkey", "tues", "7", "mon-", "-fri", "mon-fri-sun", "mon–fri", "", "٣"])
def test_invalid_day_is_rejected_by_name(part: str) -> None:
    with pytest.raises(WrongUse, match="is not a day") as error:
        parse_days(f"sat,{part}")
    assert repr(part) in str(error.value)


def test_dry_run_shows_delayed_jobs_and_saves_nothing(local_queue: LocalQueue, bruno: str, postino: Postino) -> None:
    noon = (datetime.now(UTC) + timedelta(days=2)).replace(hour=12, minute=0, second=0, microsecond=0)
    job = local_queue.enqueue(channel="letters", account=bruno, brand="acme", at=noon)
    words = ["--brand", "acme", "--from", "11:30", "--to", "14:00", "--timezone", "UTC", "--dry-run"]
    shown = postino("blackouts", "add", *words)
    [row] = [line.split() for line in shown.rows if str(job.id) in line]
    assert row[1:] == ["letters", bruno, f"{noon:%Y-%m-%d}T12:00:00Z", f"{noon:%Y-%m-%d}T14:00:00Z"]
    assert shown.rows[-1] == "Nothing was saved."
    body = postino("blackouts", "add", *words, "--json").json
    assert (body["saved"], body["more"], [it["job_id"] for it in body["shifts"]]) == (False, 0, [str(job.id)])
    assert postino("blackouts", "list", "--json").json["data"] == []


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "code", "kept"), [(b"y\n", 0, 1), (b"n\n", 1, 0), (b"\x03", 1, 0)])
def test_terminal_asks_for_confirmation(
    typed: bytes, code: int, kept: int, local_queue: LocalQueue, folder: Path, postino: Postino
) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "postino", "blackouts", "add", *ALWAYS]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | {"POSTINO_DATA_DIR": str(folder)},
        start_new_session=True, preexec_fn=interruptible,
    )  # fmt: skip
    try:
        os.close(theirs)
        result = b""
        while b"Save it?" not in result:
            result += (part := read_from(ours))
            assert part, result.decode()
        if typed == b"\x03":
            result += interrupt(process, ours)
        else:
            os.write(ours, typed)
        while part := read_from(ours):
            result += part
        process.wait(DEADLINE)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert (process.returncode, len(postino("blackouts", "list", "--json").json["data"])) == (code, kept), (
        result.decode()
    )


def interruptible() -> None:
    """Whoever runs the tests in the background has them ignore it, and what is ignored is handed on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupt(process: subprocess.Popen[bytes], terminal: int) -> bytes:
    """Interrupt a command and return its output; the signal is repeated, because Python may lose it before a read."""
    result = b""
    for _ in range(20):
        process.send_signal(signal.SIGINT)
        if select.select([terminal], [], [], 0.5)[0]:
            result += read_from(terminal)
        if b"\n" in result:  # not only the end of the prompt
            break
    return result


# Publishing in one


def test_publish_now_in_blackout_is_rejected_with_next_free_time(
    local_queue: LocalQueue, bruno: str, postino: Postino
) -> None:
    now = datetime.now(UTC)
    start, end = now - timedelta(minutes=5), now + timedelta(hours=2)
    window = ["--from", f"{start:%H:%M}", "--to", f"{end:%H:%M}", "--timezone", "UTC"]
    assert postino("blackouts", "add", "--brand", "acme", *window, "--reason", "launch", "--yes").code == 0
    refused = postino("post", "Hello", "--to", bruno)
    assert refused.code == 4
    free = f"next free time is {end:%Y-%m-%dT%H:%M:00Z}"
    for words in ("in a blackout window", "launch", free, "--at", "--allow-blackout"):
        assert words in refused.err
    assert json.loads(postino("post", "Hello", "--to", bruno, "--json").err)["error"]["field"] == "at"
    assert local_queue.perform(lambda app: app.store.jobs(JobFilter())) == []
    allowed = postino("post", "Hello", "--to", bruno, "--allow-blackout", "--json")
    assert allowed.code == 0
    [job] = local_queue.perform(lambda app: app.store.jobs(JobFilter()))
    assert (job.ignore_blackouts, job.state) == (True, State.PENDING)


def test_post_scheduled_in_blackout_says_when_it_goes_out(
    local_queue: LocalQueue, bruno: str, postino: Postino
) -> None:
    postino("blackouts", "add", "--account", bruno, *NIGHT, "--yes")
    planned = postino("post", "Hello", "--to", bruno, "--at", "2035-06-01T23:00", "--timezone", "Europe/Rome")
    assert planned.code == 0
    assert "the post goes out at 2035-06-02T05:00:00Z" in planned.err
    [job] = local_queue.perform(lambda app: app.store.jobs(JobFilter()))
    moved = postino("posts", "reschedule", job.id, "--at", "2035-06-03T23:00", "--timezone", "Europe/Rome")
    assert "the post goes out at 2035-06-04T05:00:00Z" in moved.err
    postino("blackouts", "add", *ALWAYS, "--yes")
    now = postino("posts", "reschedule", job.id, "--now", "--json")
    assert (now.code, now.error["field"]) == (4, "at")
    assert "no free time" in now.error["message"]
