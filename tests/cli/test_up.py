"""`postino up`, as a real process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE

import psutil

from postino import State
from postino.store import JobFilter
from tests.cli.conftest import Postino
from tests.cli.desk import Desk
from tests.cli.processes import DEADLINE, Command


def states(folder: Path) -> list[str]:
    jobs = Desk(folder).perform(lambda app: app.store.list(JobFilter(channel="example")))
    return sorted(job.state.value for job in jobs)


ONE_ROUND = ["completed"] * 7 + ["failed", "uncertain"]


def test_in_a_pipe_it_tells_each_change_as_json_and_ends_when_the_examples_have_ended(
    tmp_path: Path, folder: Path, postino: Postino
) -> None:
    began = time.monotonic()
    with Command("up", "--json", folder=tmp_path) as up:
        assert json.loads(up.wait_for("up")) == {"event": "up", "data_dir": str(folder)}
        second = postino("up")
        assert (second.code, second.out) == (4, "")
        assert f"already up on {folder} (process {up.process.pid})" in second.err
        assert up.wait() == 0, up.said
    assert time.monotonic() - began < 12
    told = [json.loads(line) for line in up.out]
    assert {line["event"] for line in told[1:-1]} == {"followed", "changed"}
    assert told[-1] == {"event": "ended", "jobs": {"completed": 7, "failed": 1, "uncertain": 1}}
    retried = [it["job"]["state"] for it in told[1:-1] if it["title"] == "network away, once"]
    assert retried[0] == "pending"
    assert retried[-1] == "completed"
    assert states(folder) == ONE_ROUND
    assert Desk(folder).perform(lambda app: app.store.workers()) == []


def test_killed_it_leaves_no_process_and_started_again_it_goes_on(tmp_path: Path, folder: Path) -> None:
    with Command("up", folder=tmp_path) as up:
        up.wait_for("running")
        children = psutil.Process(up.process.pid).children(recursive=True)
        assert children
        up.process.kill()
        up.wait()
        _, alive = psutil.wait_procs(children, DEADLINE)
        assert alive == []
    assert "pending" in states(folder)
    with Command("up", folder=tmp_path) as again:
        assert again.wait() == 0, again.said
    assert "\x1b" not in "".join(again.out)
    assert again.out[-4].startswith("All ended: ")
    told = [line.partition("postino ")[2].split()[:2] for line in again.out[-3:]]
    assert told == [["jobs", "list"], ["dead", "list"], ["jobs", "show"]]
    assert states(folder) == sorted(2 * ONE_ROUND)


def test_when_nobody_reads_any_more_it_ends_and_so_does_its_worker(tmp_path: Path) -> None:
    up = subprocess.Popen([sys.executable, "-m", "postino", "up"], cwd=tmp_path, stdout=PIPE, stderr=PIPE, text=True)
    with up:
        assert up.stdout is not None
        assert up.stdout.readline().startswith("Postino is up")
        children = psutil.Process(up.pid).children(recursive=True)
        up.stdout.close()
        assert up.wait(DEADLINE) == 1
        assert "Traceback" not in (up.stderr.read() if up.stderr else "")
    assert not any(child.is_running() for child in children)


def test_it_does_not_touch_a_queue_with_other_peoples_jobs(desk: Desk, postino: Postino) -> None:
    job = desk.enqueue("invoice")
    answer = postino("up")
    assert answer.code == 4
    assert "invoice" in answer.err
    assert desk.get(job).state is State.PENDING
    assert desk.get(job).attempts == 0
