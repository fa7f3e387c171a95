"""Commands as somebody at a terminal sees them."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys

DEADLINE = 20.0


def in_terminal(*arguments: str, until: str = "", **environment: str) -> str:
    """What a command says; where it goes on, it is interrupted once it has said this."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "postino", *arguments]
    surroundings = os.environ | {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", **environment}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=surroundings) as process:
        os.close(theirs)
        said = ""
        while part := read_from(ours):
            said += part.decode()
            if until and until in said:
                process.send_signal(signal.SIGINT)
                until = ""
        os.close(ours)
        assert process.wait(DEADLINE) == 0, said
    return said


def read_from(terminal: int) -> bytes:
    assert select.select([terminal], [], [], DEADLINE)[0], "nothing more was said, and it did not end"
    try:
        return os.read(terminal, 4096)
    except OSError:  # how Linux says that the other side is gone
        return b""
