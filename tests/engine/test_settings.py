"""A process with other settings than the stored ones changes nothing and says what differs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from postino import Postino
from postino.cli.connection import Target
from postino.cli.server import check_store
from postino.config import ChannelConfig
from tests.engine.conftest import make_config, run_worker

NIGHT = {"scope": "all", "start": "00:00", "end": "00:01", "timezone": "UTC", "days": [1]}


def list_differences(logs: list[Any]) -> list[list[str]]:
    return [line["differences"] for line in logs if line["event"] == "settings.differ"]


async def test_worker_with_other_settings_changes_nothing_and_says_what_differs(app: Postino) -> None:
    queue = replace(app.config.queue, blackout_windows=[NIGHT])
    configured = replace(app.config, queue=queue, channels={"reports": ChannelConfig(cap=2)})
    async with Postino(configured) as first:
        await first.apply_settings()
        with capture_logs() as logs:
            async with run_worker(first):
                pass
        assert list_differences(logs) == []
        with capture_logs() as logs:
            async with run_worker(app):
                pass
            await check_store(app.config, Target())
        differences = list_differences(logs)
        sources, _ = await first.store.gate_sources()
        assert len(sources.blackouts) == 1
        assert sources.caps["reports"] == 2
        assert len(differences) == 2, "the worker, and the server"
        assert differences[0] == differences[1]
        assert differences[0][0] == "cap of reports: 2 stored, none here"

        stored = await app.apply_settings(actor="maria")
        assert (stored.version, stored.written_by) == (3, "maria")
        sources, _ = await first.store.gate_sources()
        assert sources.blackouts == ()
        assert "reports" not in sources.caps


async def test_worker_and_server_store_no_settings(postgres_url: str, tmp_path: Path) -> None:
    config = make_config(tmp_path, postgres_url)
    config = replace(config, channels={"reports": ChannelConfig(cap=2)})
    app = Postino(config)
    await app.store.migrate()
    async with app:
        with capture_logs() as logs:
            async with run_worker(app):
                pass
            await check_store(config, Target())
        lines = [line for line in logs if line["event"] == "settings.differ"]
        assert len(lines) == 2, "the worker, and the server"
        for line in lines:
            assert "cap of reports: none stored, 2 here" in line["differences"]
            assert (line["stored_version"], line["log_level"]) == (None, "warning")
            assert "`postino migrate` stores these settings" in line["next"]
        assert await app.store.settings() is None
        sources, _ = await app.store.gate_sources()
        assert sources.caps == {}


async def test_process_that_creates_a_file_stores_its_settings_in_it(tmp_path: Path) -> None:
    config = make_config(tmp_path, f"sqlite:///{tmp_path}/new.db")
    configured = replace(config, channels={"reports": ChannelConfig(cap=2)})
    async with Postino(configured) as first, Postino(config) as second:
        with capture_logs() as logs:
            async with run_worker(first), run_worker(second):
                pass
        assert len(list_differences(logs)) == 1, "the second worker"
        stored = await first.store.settings()
        assert stored is not None
        assert stored.version == 1
        sources, _ = await second.store.gate_sources()
        assert sources.caps["reports"] == 2
