"""`postino up`, as far as it does not come up: tests/api has it as real processes."""

from __future__ import annotations

from postino import State
from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue


def test_up_rejects_queue_with_other_jobs(local_queue: LocalQueue, postino: Postino) -> None:
    job = local_queue.enqueue("invoice")
    answer = postino("up", "--port", "0")
    assert (answer.code, answer.out) == (4, "")
    assert "invoice" in answer.err
    assert (local_queue.get(job).state, local_queue.get(job).attempts) == (State.PENDING, 0)
