"""`postino queues`."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from postino.store import WorkerInfo
from tests.cli.conftest import Postino
from tests.cli.desk import Desk


@pytest.mark.parametrize(
    ("what", "scope", "name"),
    [
        (["high"], "queue", "high"),
        (["--channel", "instagram"], "channel", "instagram"),
        (["--brand", "b1"], "brand", "b1"),
        (["--account", "a1"], "account", "a1"),
    ],
)
def test_what_is_paused_is_listed_until_it_is_resumed(
    what: list[str], scope: str, name: str, desk: Desk, postino: Postino
) -> None:
    paused = postino("queues", "pause", *what, "--reason", "sale", "--json")
    assert (paused.code, paused.json["scope"], paused.json["name"], paused.json["reason"]) == (0, scope, name, "sale")
    listed = postino("queues", "list", "--json").json["pauses"]
    assert [(it["scope"], it["name"], it["reason"]) for it in listed] == [(scope, name, "sale")]
    assert desk.last_audit()[1:] == ("gate.paused", f"{scope}:{name}", "sale")
    assert postino("queues", "resume", *what).code == 0
    assert postino("queues", "list", "--json").json["pauses"] == []
    assert postino("queues", "resume", *what).code == 3


@pytest.mark.parametrize("what", [["low"], ["--channel", "no such"], ["--brand", "b1"], ["--account", "a1"]])
def test_pausing_prints_the_command_that_undoes_it(
    what: list[str], folder: Path, desk: Desk, postino: Postino
) -> None:
    answer = postino("queues", "pause", *what, "--data-dir", folder)
    program, undo = answer.out.partition("This undoes it: ")[2].split("postino queues ")
    assert program == "" or program.endswith(" -m ")
    assert shlex.split(undo) == ["resume", *what, "--data-dir", str(folder)]
    assert postino("queues", *shlex.split(undo)).code == 0


def test_pausing_a_channel_without_jobs_tells_which_have_some(desk: Desk, postino: Postino) -> None:
    desk.enqueue(channel="instagram")
    assert postino("queues", "pause", "--channel", "instagram").err == ""
    typo = postino("queues", "pause", "--channel", "instgram")
    assert typo.code == 0
    assert "No job of the channel instgram is waiting or running now" in typo.err
    assert "instagram." in typo.err


@pytest.mark.parametrize("wrong", [[], ["urgent"], ["high", "--channel", "x"], ["--brand", ""]])
def test_pausing_needs_one_thing_that_can_be_paused(wrong: list[str], desk: Desk, postino: Postino) -> None:
    assert postino("queues", "pause", *wrong).code == 2
    assert postino("queues", "resume", *wrong).code == 2


def test_the_list_counts_jobs_per_channel_and_queue(desk: Desk, postino: Postino) -> None:
    for queue in ("high", "low", "low"):
        desk.enqueue(channel="x", queue=queue)
    rows = [row.split() for row in postino("queues", "list").rows]
    assert rows[0] == ["CHANNEL", "QUEUE", "PENDING", "RUNNING", "UNCERTAIN", "OLDEST_RUN_AT"]
    assert [row[:5] for row in rows[1:3]] == [["x", "high", "1", "0", "0"], ["x", "low", "2", "0", "0"]]
    shown = postino("queues", "list", "--json").json
    assert {it["queue"]: it["pending"] for it in shown["data"]} == {"high": 1, "low": 2}
    assert shown["next_cursor"] is None


def test_the_list_tells_caps_and_which_workers_are_alive(desk: Desk, postino: Postino) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    desk.perform(lambda app: app.cap("instagram", 50))
    here = socket.gethostname()
    for worker in (("a", here, os.getpid()), ("b", here, ended.pid), ("c", "elsewhere", 1)):
        info = WorkerInfo(id=worker[0], host=worker[1], pid=worker[2])
        desk.perform(lambda app, info=info: app.store.register(info))  # type: ignore[misc]
    shown = postino("queues", "list", "--json").json
    assert {it["id"]: it["state"] for it in shown["workers"]} == {"a": "alive", "b": "gone", "c": "registered"}
    assert [(it["name"], it["cap"]) for it in shown["caps"]] == [("instagram", 50)]
    assert "Workers" in postino("queues", "list").out
