"""`postino up`, as far as it does not come up: tests/api has it as real processes."""

from __future__ import annotations

from postino import State
from tests.cli.command_line import Desk
from tests.cli.conftest import Postino


def test_it_does_not_touch_a_queue_with_other_peoples_jobs(desk: Desk, postino: Postino) -> None:
    job = desk.enqueue("invoice")
    answer = postino("up", "--port", "0")
    assert (answer.code, answer.out) == (4, "")
    assert "invoice" in answer.err
    assert (desk.get(job).state, desk.get(job).attempts) == (State.PENDING, 0)
