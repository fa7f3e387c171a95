"""`postino worker`, as a real process with an application of the test's own."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest

from postino import State
from postino.cli.shutdown import ONE_STOP
from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue
from tests.cli.processes import Command

SHOP = """
import asyncio, sys, time
from pathlib import Path
from postino import Done, Postino

app = Postino()

@app.handler("quick")
async def quick(job, payload):
    print("did", payload, flush=True)

@app.handler("patient")
async def patient(job):
    print("has begun", flush=True)
    while not Path("go").exists():
        await asyncio.sleep(0.01)
    return Done(remote_id="r1")

@app.handler("stubborn")
async def stubborn(job):
    print("has begun", flush=True)
    time.sleep(60)

@app.handler("blocked")
def blocked(job):
    print("has begun", flush=True)
    time.sleep(60)

@app.handler("blocked.elsewhere")
async def blocked_elsewhere(job):
    print("has begun", flush=True)
    await asyncio.to_thread(time.sleep, 60)

@app.handler("swallows")
async def swallows(job):
    print("has begun", flush=True)
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass

empty = Postino()
number = 7
"""


@pytest.fixture
def shop(tmp_path: Path, local_queue: LocalQueue) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


def test_worker_finishes_running_job_on_sigterm(shop: Path, local_queue: LocalQueue) -> None:
    with Command("worker", "--app", "shop:app", "--concurrency", 5, folder=shop) as worker:
        quick = local_queue.enqueue("quick", "this")
        worker.wait_for("did this")
        patient = local_queue.enqueue("patient")
        worker.wait_for("has begun")
        worker.process.send_signal(signal.SIGTERM)
        worker.wait_for("worker.draining")
        (shop / "go").touch()
        assert worker.wait() == 0, worker.output
    assert local_queue.get(quick).state is State.COMPLETED
    done = local_queue.get(patient)
    assert (done.state, done.remote_id, done.attempts) == (State.COMPLETED, "r1", 1)
    assert any('"concurrency": 5' in line for line in worker.err)
    assert local_queue.perform(lambda app: app.store.workers()) == []


def test_second_signal_stops_worker_at_once(shop: Path, local_queue: LocalQueue) -> None:
    with Command("worker", "--app", "shop:app", folder=shop) as worker:
        local_queue.enqueue("patient")
        worker.wait_for("has begun")
        worker.process.send_signal(signal.SIGTERM)
        worker.wait_for("worker.draining")
        time.sleep(ONE_STOP + 0.1)
        worker.process.send_signal(signal.SIGTERM)
        assert worker.wait() == 128 + signal.SIGTERM


def test_simultaneous_signals_count_once(shop: Path, local_queue: LocalQueue) -> None:
    with Command("worker", "--app", "shop:app", folder=shop) as worker:
        patient = local_queue.enqueue("patient")
        worker.wait_for("has begun")
        worker.process.send_signal(signal.SIGTERM)
        worker.process.send_signal(signal.SIGINT)
        worker.wait_for("worker.draining")
        worker.process.send_signal(signal.SIGTERM)
        (shop / "go").touch()
        assert worker.wait() == 0, worker.output
    assert local_queue.get(patient).state is State.COMPLETED


@pytest.mark.parametrize("type", ["blocked", "blocked.elsewhere", "swallows"])
def test_stuck_handler_is_abandoned_and_its_job_released(
    type: str, shop: Path, local_queue: LocalQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTINO_WORKER_DRAIN", "0.5")
    with Command("worker", "--app", "shop:app", folder=shop) as worker:
        job = local_queue.enqueue(type)
        worker.wait_for("has begun")
        began = time.monotonic()
        worker.process.send_signal(signal.SIGTERM)
        assert worker.wait() == 0, worker.output
        assert time.monotonic() - began < 10
    assert '"handlers": 1' in worker.err[-1]
    assert "worker.abandoned" in worker.err[-1]
    given_back = local_queue.get(job)
    assert (given_back.state, given_back.attempts) == (State.PENDING, 0)


def test_blocking_handler_does_not_block_second_signal(shop: Path, local_queue: LocalQueue) -> None:
    with Command("worker", "--app", "shop:app", folder=shop) as worker:
        local_queue.enqueue("stubborn")
        worker.wait_for("has begun")
        worker.process.send_signal(signal.SIGTERM)
        time.sleep(ONE_STOP + 0.1)
        worker.process.send_signal(signal.SIGINT)
        assert worker.wait() in (128 + signal.SIGINT, 128 + signal.SIGTERM)


def test_options_reach_application_and_piped_logs_are_json(shop: Path, tmp_path: Path) -> None:
    elsewhere = LocalQueue(tmp_path / "elsewhere")
    job = elsewhere.enqueue("quick", "that")
    with Command("worker", "--app", "shop:app", "--data-dir", "elsewhere", folder=shop) as worker:
        assert '"event": "worker.started"' in worker.wait_for("worker.started")
        worker.wait_for("did that")
        worker.process.send_signal(signal.SIGINT)
        assert worker.wait() == 0, worker.output
    assert elsewhere.get(job).state is State.COMPLETED


def test_application_with_own_database_rejects_options(shop: Path) -> None:
    own = f"from postino import Postino\napp = Postino('sqlite:///{shop}/own.db')\napp.handler('x')(lambda: None)"
    (shop / "own.py").write_text(own)
    with Command("worker", "--app", "own:app", "--database-url", "sqlite:////tmp/other.db", folder=shop) as worker:
        assert worker.wait() == 2
    assert "--database-url" in worker.output


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nowhere:app", "module nowhere does not exist"),
        ("shop", "not of the form module:attr"),
        ("shop:app.", "shop has no app."),
        ("shop:queue", "It has: app, empty"),
        ("shop:number", "is of type int, not Postino"),
        ("shop:empty", "has no handlers"),
        ("broken:app", "broken.py line 2: ZeroDivisionError"),
        ("lacking:app", "lacking.py line 2: ModuleNotFoundError: No module named 'not_installed'"),
        ("torn:app", "torn.py line 2: SyntaxError"),
        ("deep:app", "deep.py line 2: JSONDecodeError"),
        ("twice:app", "twice.py line 4: WrongUse"),
        ("shop.py:app", "without .py: shop:app"),
        ("./src/shop.py:app", "without .py: src.shop:app"),
    ],
)
def test_missing_application_is_described(
    target: str, message: str, shop: Path, postino: Postino, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(shop))
    for name in ("shop", "broken", "lacking", "torn", "deep", "twice"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (shop / "broken.py").write_text("x = 1\nx / 0\n")
    (shop / "lacking.py").write_text("\nimport not_installed\n")
    (shop / "torn.py").write_text("x = 1\nx = = 2\n")
    (shop / "deep.py").write_text("import json\njson.loads('{')\n")
    handlers = "app.handler('x')(lambda: None)\n" * 2
    (shop / "twice.py").write_text(f"from postino import Postino\napp = Postino()\n{handlers}")
    answer = postino("worker", "--app", target)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert "Traceback" not in answer.err


def test_worker_without_application_leaves_other_jobs_alone(
    shop: Path, local_queue: LocalQueue, postino: Postino
) -> None:
    job = local_queue.enqueue("invoice")
    with Command("worker", folder=shop) as worker:
        worker.wait_for("worker.started")
        explanation = postino("jobs", "explain", job.id, "--json").json
        assert [blocker["kind"] for blocker in explanation["blockers"]] == ["no_handler"]
        worker.process.send_signal(signal.SIGINT)
        assert worker.wait() == 0, worker.output
    assert (local_queue.get(job).state, local_queue.get(job).attempts) == (State.PENDING, 0)
