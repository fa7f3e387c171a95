"""The API inside the command's own process."""

from __future__ import annotations

import asyncio
from pathlib import Path

from postino.api.server import ROUTES
from postino.cli.in_process import InProcessTransport
from postino.client.messages import ApiRequest
from postino.config import load_config
from postino.wiring import Postino


def test_each_request_finds_the_routes_below_its_first_path_segment(tmp_path: Path) -> None:
    with asyncio.Runner() as runner:
        transport = InProcessTransport(Postino(load_config(tmp_path, environment={})), "nobody", runner)
        words = {route.path.split("/")[2] for route in ROUTES if route.path.startswith("/v1/")}
        for word in words:
            app = transport.select_app(ApiRequest("GET", f"/v1/{word}"))
            threaded_server = {(method, route.path) for route in app.routes for method in route.methods}  # type: ignore[attr-defined]
            expected = {(route.method, route.path) for route in ROUTES if route.path.split("/")[1:3] == ["v1", word]}
            assert expected <= threaded_server, word
