"""`postino queues`."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from postino.stores.records import WorkerInfo
from postino.values.gate import Scope
from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue


@pytest.fixture
def a1(local_queue: LocalQueue) -> None:
    """Enqueue a job of an application's account."""
    local_queue.enqueue(account="a1")


@pytest.fixture
def bruno(local_queue: LocalQueue) -> str:
    account = local_queue.perform(lambda app: app.accounts.add("bluesky", "bruno", {"password": "x"}, brand="acme"))
    return account.id


@pytest.mark.usefixtures("a1")
@pytest.mark.parametrize(
    ("what", "scope", "name"),
    [
        (["high"], "queue", "high"),
        (["--channel", "instagram"], "channel", "instagram"),
        (["--brand", "b1"], "brand", "b1"),
        (["--account", "a1"], "account", "a1"),
        (["--all"], "all", ""),
    ],
)
def test_pause_is_listed_until_resumed(
    what: list[str], scope: str, name: str, local_queue: LocalQueue, postino: Postino
) -> None:
    paused = postino("queues", "pause", *what, "--reason", "sale", "--json")
    assert (paused.code, paused.json["scope"], paused.json["name"], paused.json["reason"]) == (0, scope, name, "sale")
    listed = postino("queues", "list", "--json").json["gates"]
    assert [(it["scope"], it["name"], it["kind"], it["reason"]) for it in listed] == [(scope, name, "pause", "sale")]
    assert local_queue.last_audit()[1:] == ("gate.paused", f"{scope}:{name}", "sale")
    assert postino("queues", "resume", *what).code == 0
    assert postino("queues", "list", "--json").json["gates"] == []
    assert postino("queues", "resume", *what).code == 3


@pytest.mark.usefixtures("a1")
@pytest.mark.parametrize("what", [["low"], ["--channel", "x"], ["--brand", "b1"], ["--account", "a1"], ["--all"]])
def test_pause_prints_undo_command(what: list[str], folder: Path, local_queue: LocalQueue, postino: Postino) -> None:
    answer = postino("queues", "pause", *what, "--data-dir", folder)
    program, undo = answer.out.partition("To undo: ")[2].split("postino queues ")
    assert program == "" or program.endswith(" -m ")
    assert shlex.split(undo) == ["resume", *what, "--data-dir", str(folder)]
    assert postino("queues", *shlex.split(undo)).code == 0


def test_pause_without_jobs_lists_channels_with_jobs(local_queue: LocalQueue, postino: Postino) -> None:
    local_queue.enqueue(channel="instagram")
    assert postino("queues", "pause", "--channel", "instagram").err == ""
    other = postino("queues", "pause", "--channel", "bluesky")
    assert other.code == 0
    assert "The channel bluesky has no pending or running jobs now" in other.err
    assert "instagram." in other.err


@pytest.mark.parametrize("words", [["pause", "--channel", "instgram"], ["cap", "instgram", "3"]])
def test_unknown_channel_is_rejected_with_suggestion(
    words: list[str], local_queue: LocalQueue, postino: Postino
) -> None:
    refused = postino("queues", *words)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == ("channel: there is no channel 'instgram'. Did you mean instagram? Nothing was changed.\n")
    shown = postino("queues", "list", "--json").json
    assert (shown["gates"], "instgram" in shown["caps"]) == ([], False)


def test_channel_in_settings_can_be_capped_before_first_job(
    local_queue: LocalQueue, folder: Path, postino: Postino
) -> None:
    (folder / "postino.toml").write_text("[channels.letters]\ntime_limit = 9\n")
    words = ("queues", "cap", "letters", "--data-dir", folder)
    assert postino(*words, "1").out == "At most 1 job of the channel letters runs at once.\n"
    assert postino(*words, "0").out == "No job of the channel letters starts.\n"


@pytest.mark.parametrize("name", ["bluesky:bruno", "bluesky", "bruno"])
def test_account_is_paused_by_id_network_or_handle(name: str, bruno: str, postino: Postino) -> None:
    paused = postino("queues", "pause", "--account", name)
    assert paused.out.startswith(f"The account {bruno} is paused. To undo: ")
    assert f"queues resume --account {bruno}" in paused.out
    assert postino("queues", "resume", "--account", name).out == f"The account {bruno} is resumed.\n"


def test_cooldown_of_account_ends_by_any_name(bruno: str, local_queue: LocalQueue, postino: Postino) -> None:
    local_queue.perform(lambda app: app.store.start_cooldown(Scope.ACCOUNT, bruno, None, "too many"))
    assert (
        postino("queues", "end-cooldown", "--account", "bruno").out
        == f"The account {bruno} is no longer in cooldown.\n"
    )


@pytest.mark.parametrize("deed", ["pause", "resume", "end-cooldown"])
def test_unknown_account_is_rejected_with_suggestion(deed: str, bruno: str, postino: Postino) -> None:
    refused = postino("queues", deed, "--account", "bluesky:bruna")
    assert (refused.code, refused.out) == (3, "")
    assert refused.err == f"Account 'bluesky:bruna' does not exist. Did you mean {bruno}?\n"
    assert postino("queues", "list", "--json").json["gates"] == []


def test_ambiguous_account_is_rejected(bruno: str, local_queue: LocalQueue, postino: Postino) -> None:
    local_queue.perform(lambda app: app.accounts.add("bluesky", "ada", {"password": "x"}))
    refused = postino("queues", "pause", "--account", "bluesky", "--json")
    assert (refused.code, refused.error["field"]) == (2, "account")


def test_unknown_brand_is_paused_with_a_hint(bruno: str, local_queue: LocalQueue, postino: Postino) -> None:
    assert postino("queues", "pause", "--brand", "acme").err == ""
    odd = postino("queues", "pause", "--brand", "acmee")
    assert (odd.code, odd.err) == (0, "No account and no job has the brand acmee. Did you mean acme?\n")
    local_queue.enqueue(brand="of jobs alone")
    assert postino("queues", "pause", "--brand", "of jobs alone").err == ""


@pytest.mark.parametrize("wrong", [[], ["urgent"], ["high", "--channel", "x"], ["--brand", ""], ["--all", "low"]])
def test_pause_needs_exactly_one_scope(wrong: list[str], local_queue: LocalQueue, postino: Postino) -> None:
    assert postino("queues", "pause", *wrong).code == 2
    assert postino("queues", "resume", *wrong).code == 2


def test_list_counts_jobs_per_channel_and_queue(local_queue: LocalQueue, postino: Postino) -> None:
    for queue in ("high", "low", "low"):
        local_queue.enqueue(channel="x", queue=queue)
    rows = [row.split() for row in postino("queues", "list").rows]
    assert rows[0] == ["CHANNEL", "QUEUE", "PENDING", "RUNNING", "UNCERTAIN", "OLDEST_RUN_AT"]
    assert [row[:5] for row in rows[1:3]] == [["x", "high", "1", "0", "0"], ["x", "low", "2", "0", "0"]]
    shown = postino("queues", "list", "--json").json
    assert {it["queue"]: it["pending"] for it in shown["data"]} == {"high": 1, "low": 2}
    assert shown["next_cursor"] is None


def test_list_has_caps_and_workers(local_queue: LocalQueue, postino: Postino) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    local_queue.perform(lambda app: app.cap("instagram", 50))
    here = socket.gethostname()
    for worker in (("a", here, os.getpid()), ("b", here, ended.pid), ("c", "elsewhere", 1)):
        info = WorkerInfo(id=worker[0], host=worker[1], pid=worker[2])
        local_queue.perform(lambda app, info=info: app.store.register_worker(info))  # type: ignore[misc]
    shown = postino("queues", "list", "--json").json
    assert {it["id"]: it["alive"] for it in shown["workers"]} == {"a": True, "b": False, "c": True}
    assert shown["caps"]["instagram"] == 50
    assert "Workers" in postino("queues", "list").out


def test_cap_is_set_and_removed(local_queue: LocalQueue, postino: Postino) -> None:
    local_queue.enqueue(channel="report.daily")
    capped = postino("queues", "cap", "report.daily", "3", "--reason", "small machine")
    assert (capped.code, capped.out) == (0, "At most 3 jobs of the channel report.daily run at once.\n")
    assert local_queue.last_audit()[1:] == ("gate.capped", "channel:report.daily", "small machine")
    assert postino("queues", "list", "--json").json["caps"]["report.daily"] == 3
    assert "report.daily" in postino("queues", "list").out
    usual = postino("queues", "cap", "report.daily", "usual", "--json")
    assert usual.json == {"channel": "report.daily", "cap": None}
    assert "report.daily" not in postino("queues", "list", "--json").json["caps"]


@pytest.mark.parametrize("maximum", ["-1", "many", "1.5", "", "9999999", "99999999999"])
def test_invalid_cap_names_its_field(maximum: str, local_queue: LocalQueue, postino: Postino) -> None:
    refused = postino("queues", "cap", "instagram", maximum, "--json")
    assert (refused.code, refused.error["field"]) == (2, "cap")
    assert refused.error["message"].startswith(
        f"MAXIMUM: {maximum!r} is neither a whole number from 0 to 1,000,000 nor"
    )


@pytest.mark.parametrize("scope", [Scope.ACCOUNT, Scope.CHANNEL])
def test_cooldown_is_listed_and_ended(scope: Scope, local_queue: LocalQueue, postino: Postino) -> None:
    local_queue.perform(lambda app: app.store.start_cooldown(scope, "it", None, "too many"))
    [gate] = postino("queues", "list", "--json").json["gates"]
    assert (gate["scope"], gate["name"], gate["kind"], gate["reason"]) == (scope, "it", "cooldown", "too many")
    assert postino("queues", "end-cooldown", f"--{scope}", "it", "--reason", "they agreed").code == 0
    assert local_queue.last_audit()[1:] == ("gate.resumed", f"{scope}:it", "they agreed")
    assert postino("queues", "list", "--json").json["gates"] == []
    assert postino("queues", "end-cooldown", f"--{scope}", "it").code == 3
    assert postino("queues", "end-cooldown").code == 2


def test_list_has_circuits_and_blackouts_beside_pauses(local_queue: LocalQueue, postino: Postino) -> None:
    postino("queues", "pause", "--all")
    postino("circuits", "open", "instagram", "--reason", "down")
    postino("blackouts", "add", "--scope", "all", "--from", "00:00", "--to", "00:00", "--timezone", "UTC", "--yes")
    gates = postino("queues", "list", "--json").json["gates"]
    assert {(it["scope"], it["kind"]) for it in gates} == {
        ("all", "pause"), ("all", "blackout"), ("channel", "breaker"),
    }  # fmt: skip
    shown = postino("queues", "list").out
    assert all(word in shown for word in ("pause", "blackout", "every day all day UTC", "breaker", "down"))
