"""Run the code blocks of documentation pages as a reader would, each page in its own folder."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import pty
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any, Self

from tests.cli.terminal import read_from
from tests.doc_states import post_for, prepared_job
from tests.documents import Block
from tests.forked_cli import Done, Forker

BIN = Path(sys.executable).parent
PATIENCE = 30.0
QUICK = {
    "POSTINO_WORKER_LEASE": "1.5",
    "POSTINO_WORKER_HEARTBEAT": "0.3",
    "POSTINO_WORKER_POLL": "0.1",
    "POSTINO_PUBLISHING_TIMEOUT_FACTOR": "0.02",
    "POSTINO_PUBLISHING_SEND_WITHIN": "1",
    "POSTINO_CIRCUITS_FAILURE_THRESHOLD": "1000",  # what goes wrong here is no outage
}

# Commands that are not run here, and what covers them.
COVERED = {
    "make setup": "its target exists: test_every_make_target_that_is_named_exists",
    "make test": "its target exists, and this is it",
    "make crash": "its target exists; tests/crash runs a short part of it",
    "make fuzz": "its target exists; tests/fuzz runs a short part of it",
    "source .venv/bin/activate": "these tests run in that environment",
    "make check": "its target exists",
    "export POSTINO_DATABASE_URL=postgresql:///postino": "tests/examples/test_snap_processing.py runs on PostgreSQL",
    "createdb postino": "tests/examples/test_snap_processing.py runs on PostgreSQL",
}
# Commands that run until they are stopped: what they print first.
ENDLESS = {"postino worker": "worker.started", "postino up": None, "make up": None}
SERVERS = ("python forum_server.py",)  # those that print nothing: one can connect to the last word
UP = "postino up --port 0"  # instead of the usual ports, which may be taken where the tests run
API, SANDBOX, DATA_DIR = "http://127.0.0.1:8700", "http://127.0.0.1:8701", "~/.local/share/postino"  # as pages say
FORUM = "8790"


class DocRunner:
    def __init__(self, folder: Path) -> None:
        self.root = folder
        self.first_data_dir = folder / "data"
        self.endless: list[tuple[str, subprocess.Popen[bytes], Path]] = []
        forum = str(free_port())
        # What pages call it, and where it is.
        self.places = {
            DATA_DIR: str(self.first_data_dir),
            f"127.0.0.1:{FORUM}": f"127.0.0.1:{forum}",
            f"forum_server.py {FORUM}": f"forum_server.py {forum}",
        }
        self.played = 0
        self.output: str | None = None  # of the command before
        self.terminal: int | None = None  # of `postino up`
        self.greeting = ""  # what it printed there
        self.forker = Forker()
        self.turn_to("project")

    def turn_to(self, page: str) -> None:
        """A new terminal, in a folder of its own."""
        for command, process, log in self.endless[:]:
            if command != UP:
                self.stop(command, process, log)
        self.folder = self.root / page
        self.folder.mkdir(exist_ok=True)
        self.data_dir = self.first_data_dir
        self.environment = {name: text for name, text in os.environ.items() if not name.startswith("POSTINO_")} | QUICK
        self.environment |= {"POSTINO_DATA_DIR": str(self.data_dir), "PATH": f"{BIN}:{os.environ['PATH']}"}

    def __enter__(self) -> Self:
        self.forker.__enter__()
        self.run(["postino", "migrate"])
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.check_feed()
        for command, process, log in self.endless[:]:
            self.stop(command, process, log)
        self.forker.__exit__()
        if self.terminal is not None:
            os.close(self.terminal)

    def stop(self, command: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.endless.remove((command, process, log))
        if command.startswith(SERVERS):
            process.terminate()
            process.wait(PATIENCE)
            return
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0, f"{command}\n{log.read_text()}"

    def play(self, block: Block) -> None:
        self.played += 1
        if block.not_run:
            if block.language == "python":
                compile(block.text, block.page.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            self.output = None
            return
        match block.language:
            case "python":
                self.python(block)
            case "csv" | "toml" if block.file:
                self.save_block(block)
            case "console":
                self.output = None
                for command in block.commands:
                    self.console(command.partition("  #")[0].strip(), block.answered)
            case "text" | "json" if self.output is None:
                raise AssertionError(f"{block.page.name}: the block before printed nothing\n{block.text}")
            case "text" if "\nevent: " in block.text:
                compare_events(block.text, str(self.output), block.page.name)
            case "text":
                assert self.output is not None
                assert plain(self.output) == plain(block.text), f"{block.page.name}\n{self.output}"
            case "json":
                compare(json.loads(block.text), json.loads(str(self.output)), block.page.name)

    def fill_places(self, text: str) -> str:
        for old, new in self.places.items():
            text = text.replace(old, new)
        return text

    def save_block(self, block: Block) -> Path:
        name = self.fill_places(block.file or f"block_{self.played}.py")
        file = self.folder / name  # an absolute name stays absolute
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.fill_places(block.text))
        return file

    def python(self, block: Block) -> None:
        """A file is run by what follows on its page: test_every_block_is_run_or_marked_with_a_reason sees to that."""
        file = self.save_block(block)
        if not block.file:
            self.output = self.run([sys.executable, str(file)])

    def console(self, command: str, answered: str | None) -> None:
        if command in COVERED:
            return
        command = self.fill_places(command)
        endless = next((name for name in (*ENDLESS, *SERVERS) if command.startswith(name)), None)
        if endless:
            self.start(UP if endless.endswith(" up") else command, ENDLESS.get(endless))
        elif command.startswith("export "):
            name, _, text = command.removeprefix("export ").partition("=")
            self.environment[name] = self.run(["bash", "-c", f'printf %s "{text}"'])
            self.data_dir = self.folder / self.environment["POSTINO_DATA_DIR"]
        elif command == "unset POSTINO_DATA_DIR":
            self.data_dir = self.first_data_dir
            self.environment["POSTINO_DATA_DIR"] = str(self.data_dir)
        elif command.startswith("curl "):
            self.output = self.curl(command, answered)
        elif " > " in command:
            self.run(["bash", "-c", command])
        else:
            self.output = self.run(shlex.split(re.sub(r"\bID\b", lambda _: self.job_for(command), command)))

    def curl(self, command: str, answered: str | None) -> str:
        """An answer that is no success is one only where the page says so; what goes on for ever ends after a while."""
        if "--max-time" in command:
            command += " || [ $? -eq 28 ]"
        if answered is None:
            return self.run(["bash", "-c", command.replace("curl ", "curl --fail --silent --show-error ", 1)])
        result = self.run(["bash", "-c", command.replace("curl ", "curl --silent -w '\n%{http_code}' ", 1)])
        body, _, status = result.rpartition("\n")
        assert status == answered, f"{command}\n{result}"
        return body

    def run(self, command: list[str], folder: Path | None = None) -> str:
        if command[0] == "postino":
            done = self.forker.run(command[1:], folder or self.folder, self.environment)
        else:
            done = ran(command, folder or self.folder, self.environment)
        message = f"{shlex.join(command)[:200]}: exit code {done.code}\n{done.out}{done.err}"
        assert done.code == 0, message
        return done.out

    def start(self, command: str, sign: str | None) -> None:
        self.output = None
        if command == UP:
            self.start_up()
            return
        log = self.root / f"log_{self.played}_{len(self.endless)}"
        with log.open("wb") as output:
            process = subprocess.Popen(
                shlex.split(command), cwd=self.folder, env=self.environment, stdout=output, stderr=output
            )
        self.endless.append((command, process, log))
        end = time.monotonic() + PATIENCE
        while not (sign in log.read_text() if sign else listens(int(command.split()[-1]))):
            assert process.poll() is None, f"{command}\n{log.read_text()}"
            assert time.monotonic() < end, f"{command}\n{log.read_text()}"
            time.sleep(0.05)

    def start_up(self) -> None:
        """Once, for all pages: in a terminal, because what it says there is shown."""
        if self.greeting:
            return
        self.terminal, theirs = pty.openpty()
        surroundings = self.environment | {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
        process = subprocess.Popen(
            shlex.split(UP), cwd=self.folder, env=surroundings, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        self.endless.append((UP, process, self.data_dir / "postino.log"))
        while "it stopped" not in self.greeting:
            self.greeting += read_from(self.terminal).decode()
            assert process.poll() is None, self.greeting
        for place, named in ((API, "API"), (SANDBOX, "Sandbox feed")):
            result = re.search(rf"^  {named} +(http://[^/]+)", self.greeting, re.MULTILINE)
            assert result, self.greeting
            self.places[place] = result[1]

    def check_feed(self) -> None:
        """What the pages have published is out, and once."""
        if SANDBOX in self.places:
            with urllib.request.urlopen(f"{self.places[SANDBOX]}/_sandbox/published", timeout=PATIENCE) as answer:
                out = [(it["network"], it["text"]) for it in json.load(answer)["data"]]
            assert out
            assert len(out) == len(set(out)), out

    def job_for(self, command: str) -> str:
        """The ID of the page: a job in the state that this command is for."""
        wanted = re.match(r"postino (\w+ \w+)", command)
        assert wanted, command
        make = post_for if wanted[1].startswith("posts ") else prepared_job
        return str(asyncio.run(make(self.data_dir, wanted[1])))


def ran(command: list[str], folder: Path, environment: dict[str, str]) -> Done:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def listens(port: int) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


def plain(text: str) -> list[str]:
    """The lines without what is another one each time, and without states that last for a moment only."""
    for particular, instead in (
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "TIME"),
        (r"127\.0\.0\.1:\d+", "HOST"),
        (r"(?<=ratelimit-re)(maining|set): \d+", "N"),
    ):
        text = re.sub(particular, instead, text)
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return [line for line in lines if line is lines[-1] or not re.search(" (scheduled|publishing) ID", line)]


def compare_events(shown: str, real: str, where: str) -> None:
    """As many lines as are shown, with the same names; what is JSON has the same names in it, too."""
    for line, other in zip(shown.splitlines(), real.splitlines(), strict=False):
        (name, _, result), (real_name, _, real_result) = line.partition(": "), other.partition(": ")
        assert name == real_name, f"{where}: {line} is shown, and it is {other}"
        if name == "data":
            compare(json.loads(result) | {"data": "…"}, json.loads(real_result), where)
    assert len(shown.splitlines()) <= len(real.splitlines()), f"{where}\n{real}"


def compare(shown: Any, real: Any, where: str) -> None:
    """The same names and kinds of values. `…` stands for anything, and what is null may be anything, too."""
    match shown, real:
        case ("…" | None, _) | (["…"], list()) | (_, None):
            return
        case dict(), dict():
            assert ("…" in shown and shown.keys() - {"…"} <= real.keys()) or shown.keys() == real.keys(), (
                f"{where}: shown is {sorted(shown)}, and there is {sorted(real)}"
            )
            for name in shown.keys() - {"…"}:
                compare(shown[name], real[name], f"{where}.{name}")
        case list(), list():
            assert len(shown) <= len(real) or not real, f"{where}: {len(shown)} are shown, there are {real}"
            for number, (one, other) in enumerate(zip(shown, real, strict=False)):
                compare(one, other, f"{where}[{number}]")
        case _:
            numbers = (int, float)
            alike = type(shown) is type(real) or (isinstance(shown, numbers) and isinstance(real, numbers))
            assert alike, f"{where}: shown is {shown!r}, and it is {real!r}"
