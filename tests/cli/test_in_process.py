"""The API inside the command's own process."""

from __future__ import annotations

from pathlib import Path

from postino.api.caller import Caller, Known
from postino.api.server import app_for
from postino.cli.in_process import ANSWERED_BY
from postino.config import load_config
from postino.wiring import Postino
from tests.api.test_authorization import leaves, routes


def test_every_part_that_is_put_together_alone_answers_all_there_is_under_its_word(tmp_path: Path) -> None:
    app, check = Postino(load_config(tmp_path, environment={})), Known(Caller("nobody", "cli"))
    for word, parts in ANSWERED_BY.items():
        alone = {(method, it.path) for it in leaves(app_for(app, check, parts).routes) for method in it.methods or ()}
        wanted = {(method, path) for method, path in routes() if path.split("/")[1:3] == ["v1", word]}
        assert wanted, word
        assert wanted <= alone, word
