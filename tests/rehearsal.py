"""Plays a page's blocks in their order, as a reader would: in a folder and a data directory of their own."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self
from uuid import UUID

from postino import Job, Postino, Retry, State, Unknown
from postino.config import load
from postino.content import Content
from postino.gate import Scope
from postino.job import new_id
from postino.publishing.posts import Wish
from postino.rules.gates import Known
from postino.rules.retry import RetryPolicy
from postino.rules.settlement import settle
from postino.store import Act, ClaimOrder, Ending, JobFilter, WorkerInfo
from postino.stores.operations import claim, gates
from postino.stores.sql_store import SqlStore
from postino.stores.statement import Operation
from tests.documents import Block

BIN = Path(sys.executable).parent
PATIENCE = 30.0
CHANNEL = "rehearsal"
QUICK = {
    "POSTINO_WORKER_LEASE": "1.5",
    "POSTINO_WORKER_HEARTBEAT": "0.3",
    "POSTINO_WORKER_POLL": "0.1",
    "POSTINO_PUBLISHING_PATIENCE": "0.02",
    "POSTINO_PUBLISHING_SEND_WITHIN": "1",
    "POSTINO_CIRCUITS_FAILURE_THRESHOLD": "1000",  # what goes wrong here is no outage
}

# Commands that are not run here, and what covers them.
COVERED = {
    "make setup": "its target exists: test_every_make_target_that_is_named_exists",
    "make test": "its target exists, and this is it",
    "source .venv/bin/activate": "these tests run in that environment",
    "make check": "its target exists",
    "export POSTINO_DATABASE_URL=postgresql:///postino": "tests/examples/test_snap_processing.py runs on PostgreSQL",
    "createdb postino": "tests/examples/test_snap_processing.py runs on PostgreSQL",
}
# Commands that go on until they are told to stop: what they print before they are told to.
ENDLESS = {"postino worker": "worker.started", "postino up": "sandbox_url", "make up": "sandbox_url"}
UP = "postino up --port 0 --json"  # instead of the usual ports, which may be taken where the tests run
API, SANDBOX, DATA_DIR = "http://127.0.0.1:8700", "http://127.0.0.1:8701", "~/.local/share/postino"  # as pages say


class Rehearsal:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        self.data_dir = folder / "data"
        self.environment = {name: text for name, text in os.environ.items() if not name.startswith("POSTINO_")} | QUICK
        self.environment |= {"POSTINO_DATA_DIR": str(self.data_dir), "PATH": f"{BIN}:{os.environ['PATH']}"}
        self.endless: list[tuple[str, subprocess.Popen[bytes], Path]] = []
        self.places = {DATA_DIR: str(self.data_dir)}  # what the page calls it, and where it is
        self.played = 0

    def __enter__(self) -> Self:
        self.run(["postino", "migrate"])
        return self

    def __exit__(self, *_: object) -> None:
        self.check_feed()
        for command, process, log in self.endless:
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 0, f"{command}\n{log.read_text()}"

    def play(self, block: Block) -> None:
        self.played += 1
        if block.not_run:
            if block.language == "python":
                compile(block.text, block.page.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            return
        match block.language:
            case "python":
                self.python(block)
            case "toml":
                pass  # test_every_settings_file_shown_can_be_loaded
            case "console":
                for command in block.commands:
                    self.console(command.partition("  #")[0].strip())

    def python(self, block: Block) -> None:
        file = self.folder / (block.file or f"block_{self.played}.py")
        file.write_text(block.text)
        if not block.file:
            self.run([sys.executable, str(file)])
        elif "asyncio.run(" not in block.text:  # else it is a program, which the page runs itself
            self.run([sys.executable, "-c", f"import {file.stem}"])

    def console(self, command: str) -> None:
        if command in COVERED:
            return
        for said, meant in self.places.items():
            command = command.replace(said, meant)
        endless = next((name for name in ENDLESS if command.startswith(name)), None)
        if endless:
            self.start(UP if endless.endswith(" up") else command, ENDLESS[endless])
        elif command.startswith("export "):
            name, _, text = command.removeprefix("export ").partition("=")
            self.environment[name] = text
            self.data_dir = self.folder / self.environment["POSTINO_DATA_DIR"]
        elif command.startswith("curl "):
            self.run(["bash", "-c", command.replace("curl ", "curl --fail ", 1)])
        else:
            self.run(shlex.split(re.sub(r"\bID\b", lambda _: self.job_for(command), command)))

    def run(self, command: list[str]) -> None:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=PATIENCE,
            check=False,
        )
        said = f"{shlex.join(command)[:200]}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        assert done.returncode == 0, said

    def start(self, command: str, sign: str) -> None:
        log = self.folder / f"log_{len(self.endless)}"
        with log.open("wb") as output:
            process = subprocess.Popen(
                shlex.split(command), cwd=self.folder, env=self.environment, stdout=output, stderr=output
            )
        self.endless.append((command, process, log))
        end = time.monotonic() + PATIENCE
        while sign not in log.read_text() or not log.read_text():
            assert process.poll() is None, f"{command}\n{log.read_text()}"
            assert time.monotonic() < end, f"{command}\n{log.read_text()}"
            time.sleep(0.1)
        if command == UP:
            told = json.loads(next(line for line in log.read_text().splitlines() if sign in line))
            self.places |= {API: told["url"], SANDBOX: told["sandbox_url"]}

    def check_feed(self) -> None:
        """What the page has published is out, and once."""
        if SANDBOX in self.places:
            with urllib.request.urlopen(f"{self.places[SANDBOX]}/_sandbox/published", timeout=PATIENCE) as answer:
                out = [(it["network"], it["text"]) for it in json.load(answer)["data"]]
            assert out
            assert len(out) == len(set(out)), out

    def job_for(self, command: str) -> str:
        """The ID of the page: a job in the state that this command is for."""
        wanted = re.match(r"postino (\w+ \w+)", command)
        assert wanted, command
        if wanted[1].startswith("posts "):
            return str(asyncio.run(self.make_post(missed=wanted[1] == "posts replay")))
        state = {"jobs cancel": State.PENDING, "jobs resolve": State.UNCERTAIN, "jobs show": State.PENDING}
        return str(asyncio.run(self.make(state.get(wanted[1], State.FAILED))).id)

    def settled_jobs(self, type_: str, many: int) -> list[Job]:
        """All jobs of a type, when there are so many and none that is due waits any more."""
        return asyncio.run(self.settled(type_, many))

    async def settled(self, type_: str, many: int) -> list[Job]:
        end = time.monotonic() + PATIENCE
        async with Postino(load(self.data_dir, environment={})) as app:
            while True:
                jobs = await app.store.list(JobFilter(type=type_, limit=2 * many))
                now = datetime.now(UTC)
                busy = [job for job in jobs if not job.state.is_final and job.run_at and job.run_at <= now]
                if len(jobs) >= many and not busy:
                    return list(jobs)
                assert time.monotonic() < end, f"{len(jobs)} jobs, {len(busy)} of them due and not ended"
                await asyncio.sleep(0.2)

    async def make_post(self, *, missed: bool) -> UUID:
        """One that is planned for later or, by an account that is paused, was missed."""
        async with Postino(load(self.data_dir, environment={})) as app:
            account = await app.accounts.add("bluesky", CHANNEL, {"password": "none"})
            await app.pause("account", account.id)
            soon = datetime.now(UTC) + timedelta(seconds=0.2)
            wish = Wish(
                content=Content(body=f"Made for the page at {soon}"),
                accounts=(account.id,),
                at=None if missed else soon + timedelta(days=1),
                publish_until_at=soon if missed else None,
            )
            [written] = await app.posts.schedule(wish)
            while missed and not (await app.store.get(written.post.job.id)).state.is_final:
                await app.store.miss_posts(3600)
            return written.post.job.id

    async def make(self, state: State) -> Job:
        """Makes one by hand, on a paused channel, so that no worker of the page gets it first."""
        async with Postino(load(self.data_dir, environment={})) as app:
            await app.pause("channel", CHANNEL)
            job = await app.enqueue(CHANNEL, {"made": "for the page"})
            if state is State.PENDING:
                return job
            await app.store.register(WorkerInfo(id="rehearsal", host="page", pid=os.getpid()))
            survey = await app.store.survey("rehearsal")
            heads = tuple(head for head in survey.heads if head.channel == CHANNEL)
            ours = replace(survey, heads=heads, known=Known(), hinted=False)
            order = ClaimOrder(worker="rehearsal", token=new_id(), free=100, survey=ours)
            outcome = Unknown("No answer came back.") if state is State.UNCERTAIN else Retry("The other side was down.")
            decided = settle(job, outcome, RetryPolicy(max_attempts=0), survey.now, jitter=0)
            assert isinstance(app.store, SqlStore)
            held = [claimed for claimed in await app.store.driver.transact(claim_alone(order)) if claimed.id == job.id]
            await app.store.settle([Ending(claimed, decided) for claimed in held])
            await app.store.retire("rehearsal")
            return await app.store.get(job.id)


def claim_alone(order: ClaimOrder) -> Operation[list[Job]]:
    """Opens the channel for this claim only: in one transaction, so that nobody else finds it open."""
    us = Act("rehearsal")
    yield from gates.resume(Scope.CHANNEL, CHANNEL, us)
    claimed = yield from claim.claim(order)
    yield from gates.pause(Scope.CHANNEL, CHANNEL, us)
    return claimed
