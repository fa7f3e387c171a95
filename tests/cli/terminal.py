"""Run commands in a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys

DEADLINE = 20.0


def run_in_terminal(*arguments: str, until: str = "", **environment: str) -> str:
    """Return the output of a command. With `until`, interrupt it once it has printed that."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "postino", *arguments]
    environment_variables = os.environ | {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", **environment}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment_variables) as process:
        os.close(theirs)
        text = ""
        while part := read_from(ours):
            text += part.decode()
            if until and until in text:
                process.send_signal(signal.SIGINT)
                until = ""
        os.close(ours)
        assert process.wait(DEADLINE) == 0, text
    return text


def read_from(terminal: int) -> bytes:
    assert select.select([terminal], [], [], DEADLINE)[0], "no more output, and the command did not end"
    try:
        return os.read(terminal, 4096)
    except OSError:  # how Linux says that the other side is gone
        return b""
