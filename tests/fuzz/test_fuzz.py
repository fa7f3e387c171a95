"""Whatever is asked, with a key and without: never a server error, and never an answer the API did not announce."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fuzz.asking import ask_anything
from tests.fuzz.household import Target
from tests.fuzz.world import furnish

SEED = int(os.environ.get("POSTINO_FUZZ_SEED", "20261116"))
EXAMPLES = int(os.environ.get("POSTINO_FUZZ_EXAMPLES", "5"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_whatever_is_asked_is_answered_as_announced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`make fuzz` asks much more."""
    with Target(tmp_path / "data") as target:
        known = furnish(target)
        for with_key in (False, True):
            found = ask_anything(target, tmp_path, known=known, seed=SEED, examples=EXAMPLES, with_key=with_key)
            with capsys.disabled():
                whose = "with" if with_key else "without"
                told = f"{found.calls} calls, {found.operations} operations, {found.links} links"
                print(f"\nfuzz {whose} a key: {told}, seed {SEED}")
            assert found.clean, found.said
            assert found.links or not with_key, "no answer led to another question: the stories told nothing"
        target.kill_group()
        assert target.troubles() == []
