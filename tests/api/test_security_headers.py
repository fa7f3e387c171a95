"""Every response tells browsers to run, frame, guess and store nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.asgi import run_api

EXPECTED = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "cache-control": "no-store"}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/v1/me", 200),
        ("GET", "/v1/openapi.json", 200),
        ("GET", "/health/live", 200),
        ("GET", "/nowhere", 404),
        ("TRACE", "/v1/me", 405),
        ("POST", "/v1/posts", 422),
        ("GET", "/sign-in?token=x", 401),
    ],
)
async def test_every_response_has_security_headers(tmp_path: Path, method: str, path: str, status: int) -> None:
    async with run_api(tmp_path) as api:
        reply = await api.ask(method, path)
    assert reply.status == status
    assert {name: reply.headers[name] for name in EXPECTED} == EXPECTED
    policy = reply.headers["content-security-policy"]
    assert {"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"} <= {*policy.split("; ")}
    assert "unsafe" not in policy
    assert "strict-transport-security" not in reply.headers


async def test_response_over_https_asks_for_https_only(tmp_path: Path) -> None:
    async with run_api(tmp_path) as api:
        api.scheme = "https"
        reply = await api.ask("GET", "/v1/me")
    assert reply.headers["strict-transport-security"] == "max-age=31536000"


async def test_no_response_allows_another_origin_to_read_it(tmp_path: Path) -> None:
    async with run_api(tmp_path) as api:
        for method in ("GET", "OPTIONS"):
            reply = await api.ask(method, "/v1/me", Origin="https://elsewhere.example")
            assert not [name for name in reply.headers if name.startswith("access-control-")]
