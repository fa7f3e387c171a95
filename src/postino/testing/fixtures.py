"""Fixtures for pytest: put `pytest_plugins = ["postino.testing.fixtures"]` into your conftest.py."""

from collections.abc import Iterator

import pytest

from postino.testing.sandbox import SandboxServer


@pytest.fixture(scope="session")
def postino_sandbox_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxServer]:
    """The sandbox, started once for all tests."""
    with SandboxServer(tmp_path_factory.mktemp("sandbox")) as sandbox:
        yield sandbox


@pytest.fixture
def postino_sandbox(postino_sandbox_server: SandboxServer) -> SandboxServer:
    """The sandbox without posts and faults of earlier tests."""
    postino_sandbox_server.reset()
    return postino_sandbox_server
