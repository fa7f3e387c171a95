"""`postino blackouts`, and `postino post` in one."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from postino.job import State
from postino.store import JobFilter
from tests.cli.conftest import Postino
from tests.cli.desk import Desk
from tests.cli.terminal import read_from

NIGHT = ["--from", "22:00", "--to", "07:00", "--timezone", "Europe/Rome"]
ALWAYS = ["--scope", "all", "--from", "00:00", "--to", "00:00", "--timezone", "UTC"]
BRUNO = "bluesky:bruno"


@pytest.fixture
def bruno(desk: Desk) -> str:
    desk.perform(lambda app: app.accounts.add("bluesky", "bruno", {"password": "x"}, brand="acme"))
    return BRUNO


def test_a_blackout_is_added_listed_and_removed(desk: Desk, bruno: str, postino: Postino) -> None:
    added = postino("blackouts", "add", "--scope", "brand", "--brand", "acme", *NIGHT, "--days", "sun,sat")
    assert added.code == 0, added
    assert added.rows[:2] == [
        "Nothing is published: Saturday and Sunday 22:00–07:00 Europe/Rome, for brand acme.",
        "It moves nothing that waits now.",
    ]
    [row] = postino("blackouts", "list").rows[1:]
    wanted, *rest = row.split()
    assert rest == ["brand", "acme", "22:00", "07:00", "Europe/Rome", "sun,sat", "-"]
    [listed] = postino("blackouts", "list", "--json").json["data"]
    assert (listed["id"], listed["days"], listed["brand"]) == (wanted, [0, 6], "acme")
    assert added.rows[-1].endswith(f"blackouts remove {wanted}")
    removed = postino("blackouts", "remove", wanted, "--reason", "over")
    assert (removed.code, removed.out.startswith("Removed: ")) == (0, True)
    assert desk.last_audit()[1:] == ("blackout.removed", f"blackout:{wanted}", "over")
    assert postino("blackouts", "remove", wanted).code == 3
    assert postino("blackouts", "remove", "this").code == 2


@pytest.mark.parametrize(
    ("words", "scope", "days"),
    [
        (["--account", BRUNO], "account", []),
        (["--channel", "instagram", "--days", "6,0"], "channel", [0, 6]),
        (["--brand", "acme", "--days", "Friday"], "brand", [5]),
        (["--scope", "all"], "all", []),
    ],
)
def test_what_is_named_says_the_scope(
    words: list[str], scope: str, days: list[int], bruno: str, postino: Postino
) -> None:
    added = postino("blackouts", "add", *words, *NIGHT, "--reason", "sleep", "--json").json
    assert (added["scope"], added["days"], added["reason"], added["saved"]) == (scope, days, "sleep", True)
    assert postino("blackouts", "add", *words, *NIGHT, "--json").code == 4


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (NIGHT, "scope"),
        ([*NIGHT, "--brand", "a", "--channel", "instagram"], "scope"),
        ([*NIGHT, "--scope", "planet"], "scope"),
        ([*NIGHT, "--channel", "instagrm"], "channel"),
        ([*NIGHT, "--account", "bluesky:bruna"], "account"),
        ([*NIGHT, "--scope", "all", "--days", "someday"], "days"),
        ([*NIGHT, "--scope", "all", "--days", "7"], "days"),
        ([*NIGHT, "--scope", "all", "--timezone", "Europe/Rom"], "timezone"),
        ([*NIGHT, "--scope", "all", "--from", "25:00"], "start"),
        (["--scope", "all", "--from", "22:00", "--timezone", "UTC"], "end"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_saved(
    words: list[str], field: str, bruno: str, postino: Postino
) -> None:
    refused = postino("blackouts", "add", *words, "--json")
    assert (refused.code, refused.refusal["field"]) == (2, field), refused
    assert postino("blackouts", "list", "--json").json["data"] == []


def test_a_dry_run_shows_what_would_move_and_saves_nothing(desk: Desk, bruno: str, postino: Postino) -> None:
    noon = (datetime.now(UTC) + timedelta(days=2)).replace(hour=12, minute=0, second=0, microsecond=0)
    job = desk.enqueue(channel="bluesky", account=bruno, brand="acme", at=noon)
    words = ["--brand", "acme", "--from", "11:30", "--to", "14:00", "--timezone", "UTC", "--dry-run"]
    shown = postino("blackouts", "add", *words)
    [row] = [line.split() for line in shown.rows if str(job.id) in line]
    assert row[1:] == ["bluesky", bruno, f"{noon:%Y-%m-%d}T12:00:00Z", f"{noon:%Y-%m-%d}T14:00:00Z"]
    assert shown.rows[-1] == "Nothing was saved."
    told = postino("blackouts", "add", *words, "--json").json
    assert (told["saved"], told["more"], [it["job_id"] for it in told["shifts"]]) == (False, 0, [str(job.id)])
    assert postino("blackouts", "list", "--json").json["data"] == []


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "code", "kept"), [(b"y\n", 0, 1), (b"n\n", 1, 0), (b"\x03", 1, 0)])
def test_somebody_at_a_terminal_is_asked_first(
    typed: bytes, code: int, kept: int, desk: Desk, folder: Path, postino: Postino
) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "postino", "blackouts", "add", *ALWAYS]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | {"POSTINO_DATA_DIR": str(folder)},
        start_new_session=True,
    ) as process:  # fmt: skip
        os.close(theirs)
        said = b""
        while b"Save it?" not in said:
            said += read_from(ours)
        if typed == b"\x03":
            process.send_signal(2)
        else:
            os.write(ours, typed)
        while part := read_from(ours):
            said += part
        os.close(ours)
    assert (process.returncode, len(postino("blackouts", "list", "--json").json["data"])) == (code, kept), said.decode()


# Publishing in one


def test_publishing_now_in_a_blackout_is_refused_with_the_next_free_instant(
    desk: Desk, bruno: str, postino: Postino
) -> None:
    now = datetime.now(UTC)
    start, end = now - timedelta(minutes=5), now + timedelta(hours=2)
    window = ["--from", f"{start:%H:%M}", "--to", f"{end:%H:%M}", "--timezone", "UTC"]
    assert postino("blackouts", "add", "--brand", "acme", *window, "--reason", "launch").code == 0
    refused = postino("post", "Hello", "--to", bruno)
    assert refused.code == 4
    free = f"next free instant is {end:%Y-%m-%dT%H:%M:00Z}"
    for words in ("in a blackout window", "launch", free, "--at", "--allow-blackout"):
        assert words in refused.err
    assert json.loads(postino("post", "Hello", "--to", bruno, "--json").err)["error"]["field"] == "at"
    assert desk.perform(lambda app: app.store.list(JobFilter())) == []
    allowed = postino("post", "Hello", "--to", bruno, "--allow-blackout", "--json")
    assert allowed.code == 0
    [job] = desk.perform(lambda app: app.store.list(JobFilter()))
    assert (job.regardless, job.state) == (True, State.PENDING)


def test_a_plan_in_a_blackout_is_kept_and_told_when_it_goes_out(desk: Desk, bruno: str, postino: Postino) -> None:
    postino("blackouts", "add", "--account", bruno, *NIGHT)
    planned = postino("post", "Hello", "--to", bruno, "--at", "2035-06-01T23:00", "--timezone", "Europe/Rome")
    assert planned.code == 0
    assert "it goes out at 2035-06-02T05:00:00Z" in planned.err
    [job] = desk.perform(lambda app: app.store.list(JobFilter()))
    moved = postino("posts", "reschedule", job.id, "--at", "2035-06-03T23:00", "--timezone", "Europe/Rome")
    assert "it goes out at 2035-06-04T05:00:00Z" in moved.err
    postino("blackouts", "add", *ALWAYS)
    now = postino("posts", "reschedule", job.id, "--now", "--json")
    assert (now.code, now.refusal["field"]) == (4, "at")
    assert "no free time" in now.refusal["message"]
