"""A Postino to be asked anything: the API and simulated networks, and nobody who would publish."""

from __future__ import annotations

import threading
from pathlib import Path

from tests.api.household import DEADLINE, Up


class Target(Up):
    """As many requests as one likes. What it says is kept as it comes: a full pipe would stop it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "--workers", "0", POSTINO_API_RATE="0")
        self.said: list[str] = []
        self.listening = threading.Thread(target=self.listen, daemon=True)
        self.listening.start()

    def listen(self) -> None:
        assert self.process.stderr is not None
        self.said.extend(self.process.stderr)

    def troubles(self) -> list[str]:
        """What went wrong inside, though the answer may have hidden it."""
        return [line for line in self.said if '"api.trouble"' in line]

    def end(self) -> str:
        self.process.wait(DEADLINE)
        self.listening.join(DEADLINE)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        return "".join(self.said)
