"""A worker that cannot write its witness file goes on, says so, and is a stranger at its next lone start."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.api.processes import Server
from tests.restore.drill import ASKABLE, SILENT, Drill, Site
from tests.restore.people import open_server
from tests.restore.places import LONG_UNUSED

pytestmark = [pytest.mark.slow, pytest.mark.crash]

READ_ONLY = Path("/proc/self/postino")  # nobody can create a directory there, not even root


def make_missing(drill: Drill, site: Site) -> dict[str, str]:
    """Put a file where the directory should be."""
    path = drill.get_state_dir("none")
    path.write_text("not a directory")
    return {}


def make_read_only(drill: Drill, site: Site) -> dict[str, str]:
    return {"state_dir": str(READ_ONLY)}


def make_full(drill: Drill, site: Site) -> dict[str, str]:
    """Put a device in the place of the file: every write to it fails as on a full disk."""
    [[installation]] = site.ask("SELECT installation FROM postino.database_state")
    folder = drill.get_state_dir("none") / "witness" / installation
    folder.mkdir(parents=True)
    (folder / "0").symlink_to("/dev/full")
    return {}


@pytest.mark.parametrize(
    ("make_disk", "trouble"),
    [
        (make_missing, "Not a directory"),
        (make_read_only, "No such file or directory"),
        (make_full, "No space left on device"),
    ],
)
async def test_worker_without_a_state_directory_sends_and_says_so(
    drill: Drill, make_disk: Callable[[Drill, Site], dict[str, str]], trouble: str
) -> None:
    async with drill.open() as site:
        await site.start("other")
        await site.expect_published_once(*await site.schedule(ASKABLE))
        order = make_disk(drill, site)
        forgetful = await site.start("none", **order)
        await site.wait_for_log("witness.unavailable")
        await site.wait_for_heartbeats()
        await site.stop(*(process for process in site.living if process is not forgetful))
        await site.expect_published_once(*await site.schedule(ASKABLE, SILENT))
        assert trouble in drill.read_log()
        await drill.run(lambda: drill.place.run(LONG_UNUSED))
        async with open_server(site) as server:
            await wait_for_warning(site, server)
            [described] = server.api.get("/v1/database")["troubles"]
            assert trouble in described
        later = await site.schedule(SILENT, hours=6)
        await site.expect_no_question()
    await drill.run(lambda: drill.place.move_back(12))
    async with drill.open() as site:
        await site.start("none", **order)
        await site.wait_for_standing("asked", "stranger")
        await site.expect_nothing_sent(*later)


async def test_disk_that_fills_up_while_a_worker_runs(drill: Drill) -> None:
    async with drill.open() as site:
        await site.start("one")
        await site.expect_published_once(*await site.schedule(ASKABLE))
        for file in (drill.get_state_dir("one") / "witness").glob("*/*"):
            file.unlink()
            file.symlink_to("/dev/full")
        await drill.run(lambda: drill.place.run(LONG_UNUSED))  # so that the next pulse is due
        await site.wait_for_log("No space left on device")
        await site.expect_published_once(*await site.schedule(ASKABLE, SILENT))
        later = await site.schedule(SILENT, hours=6)
        await site.expect_no_question()
    await drill.run(lambda: drill.place.move_back(12))
    async with drill.open() as site:
        await site.start("one")
        await site.wait_for_standing("asked", "stranger")
        await site.expect_nothing_sent(*later)


async def wait_for_warning(site: Site, server: Server) -> None:
    """Wait until the server counts the worker, which is at its next pulse."""

    async def is_counted() -> bool:
        ready = server.api.get("/health/ready")
        assert ready["database"] == "open"
        return bool(ready.get("workers_without_state_directory") == 1)

    await site.wait_until(is_counted, "a warning of the server")
