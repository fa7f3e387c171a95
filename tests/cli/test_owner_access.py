"""The owner's key and sign-in links are shown on a terminal or with `--json`, and never written to files and logs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.processes import DEADLINE, make_environment


@pytest.mark.slow
def test_up_outside_a_terminal_prints_the_path_of_the_key(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    command = [sys.executable, "-m", "postino", "up", "--port", "0", "--data-dir", str(folder)]
    with subprocess.Popen(
        command, env=make_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, umask=0,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        lines: list[str] = []
        try:
            while not lines or (lines[-1] and not lines[-1].startswith("Press Ctrl-C")):
                lines.append(process.stdout.readline())
        finally:
            os.killpg(process.pid, signal.SIGINT)
            rest = process.communicate(timeout=DEADLINE)
    shown = "".join((*lines, *rest))
    path = folder / "api.key"
    assert (path.stat().st_mode & 0o777, path.stat().st_uid) == (0o600, os.getuid())
    open_to_others = [one for one in (folder, *folder.rglob("*")) if one.lstat().st_mode & 0o077]
    assert open_to_others == [], "with a umask of 0, Postino itself must restrict what it creates"
    assert str(path) in shown
    assert f"$(cat {path})" in shown
    assert "postino users link" in shown or "users link --data-dir" in shown
    for secret in (path.read_text().strip(), "#key=", "token="):
        assert secret not in shown
