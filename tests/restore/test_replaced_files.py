"""A SQLite file is replaced while `postino up` runs: server and worker go on with the new file, and ask."""

import shutil
from pathlib import Path

import apsw
import pytest

from tests.api.processes import Up, eventually

pytestmark = [pytest.mark.slow, pytest.mark.crash]


def back_up(path: Path, backup: Path) -> None:
    """Copy the open database as `sqlite3 postino.db .backup` does."""
    source, target = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY), apsw.Connection(str(backup))
    with target.backup("main", source, "main") as copying:
        copying.step()
    target.close()
    source.close()


def test_file_replaced_under_server_and_worker_publishes_nothing_twice(tmp_path: Path) -> None:
    with Up(tmp_path / "data", POSTINO_STATE_DIR=str(tmp_path / "state")) as up:
        account = up.api.get("/v1/accounts")["data"][0]["id"]
        path, backup = tmp_path / "data" / "postino.db", tmp_path / "backup.db"
        back_up(path, backup)
        sent = up.post("sent after the backup", account)["posts"][0]
        up.wait_for_status(sent["id"])
        path.unlink()
        shutil.copy(backup, path)

        def is_asked() -> bool:
            reply = up.api.ask("GET", "/v1/database")
            assert reply.status in (200, 503)
            return reply.status == 200 and reply.json["standing"] == "asked"

        eventually(is_asked)
        waiting = up.post("accepted while a person is asked", account)["posts"][0]
        reply = up.api.ask("POST", "/v1/database/accept", {"answer": "restored", "reason": "I looked"})
        assert reply.status == 200
        assert reply.json["held"] == []
        up.wait_for_status(waiting["id"])
        new = up.post("accepted after the answer", account)["posts"][0]
        up.wait_for_status(new["id"])
        accepted = ["accepted after the answer", "accepted while a person is asked"]
        assert sorted(up.texts()) == [*accepted, "sent after the backup"]
        assert up.api.ask("GET", f"/v1/posts/{sent['id']}").status == 404, "it was lost with the old file"
        up.interrupt()
