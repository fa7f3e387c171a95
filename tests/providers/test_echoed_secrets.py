"""A network that repeats tokens in its errors brings none of them into the database, the logs or a response."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import structlog

from postino import Postino
from postino.cli import logs
from postino.config import load_config
from postino.outbound.redaction import MIN_BODY_SECRET, encode_secret
from postino.publishing.post_request import PostRequest
from postino.testing.sandbox import SandboxServer
from postino.values.content import Content
from postino.values.job import State
from tests.engine.conftest import run_worker, wait_for
from tests.providers.echoing_proxy import EchoingProxy

NETWORKS = ("bluesky", "mastodon", "telegram")
SHOWN = 20  # characters of a secret that tell it from other text
STATUSES = (200, 400, 401, 403, 500)


def find_leaks(secrets: set[str], text: str) -> list[str]:
    """Return the secrets that are in a text, or that begin in it: a message quotes only part of a response."""
    forms = {form[:SHOWN] for secret in secrets for form in encode_secret(secret) if len(form) >= MIN_BODY_SECRET}
    return sorted(form for form in forms if form in text)


def read_database(folder: Path) -> str:
    """Return all that is stored, as text: the files of the database hold deleted rows, too."""
    files = [path for path in folder.iterdir() if path.is_file() and path.name != "vault.key"]
    return b"".join(path.read_bytes() for path in files).decode("latin-1")


CASES = [*((network, status, False) for network in NETWORKS for status in STATUSES), ("bluesky", 400, True)]


@pytest.mark.parametrize(("network", "status", "opaque"), CASES)
async def test_echoed_secrets_are_stored_nowhere(
    tmp_path: Path, sandbox: SandboxServer, network: str, status: int, opaque: bool
) -> None:
    stream, before = io.StringIO(), structlog.get_config()
    folder = tmp_path / "data"
    async with EchoingProxy(sandbox.url, status, opaque=opaque) as proxy:
        flags: dict[str, dict[str, Any]] = {
            "networks": {"allowed_private_origins": [proxy.url]},
            "publishing": {"send_within": 1.0},
        }
        app = Postino(load_config(folder, flags, environment={}))
        account = sandbox.account(network, proxy.url)
        logs.configure(stream, "debug", logs.json_processors())
        try:
            async with app:
                stored = await app.accounts.add(
                    network, account.handle, dict(account.credentials), base_url=account.base_url,
                    remote_id=account.remote_id,
                )  # fmt: skip
                request = PostRequest(content=Content(body="Hello"), accounts=(stored.id,))
                [saved] = await app.posts.schedule(request)

                async def has_failed() -> bool:
                    job = await app.store.job(saved.post.job.id)
                    return job.state is not State.RUNNING and (job.last_error or job.deferral_reason) is not None

                async with run_worker(app):
                    await wait_for(has_failed)
                job = await app.store.job(saved.post.job.id)
                shown = f"{job!r} {await app.store.attempts(job.id)!r} {await app.store.ledger(job.id)!r}"
        finally:
            structlog.configure(**before)
        assert proxy.echoes
        assert proxy.secrets
        assert find_leaks(proxy.secrets, f"{shown} {stream.getvalue()}") == []
        assert find_leaks(proxy.secrets, read_database(folder)) == []
