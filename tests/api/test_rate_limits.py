"""Request ids, rate limits and compression."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from postino.api.rate_limits import hash_credential
from tests.api.fake_worker import put
from tests.api.processes import Server


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Four requests at once, and one more every hundred seconds."""
    folder: Path = tmp_path_factory.mktemp("strict") / "data"
    with Server(folder, POSTINO_API_RATE="0.01", POSTINO_API_BURST="4") as server:
        yield server


def test_request_id_is_in_responses_and_errors(server: Server) -> None:
    response = server.api.ask("GET", "/v1/jobs/nobody", X_Request_Id="order-17")
    assert (response.status, response.headers["x-request-id"], response.json["request_id"]) == (
        422,
        "order-17",
        "order-17",
    )
    assert server.api.ask("GET", "/v1/accounts", X_Request_Id="order-18").headers["x-request-id"] == "order-18"


@pytest.mark.parametrize("given", [None, "", "a b", "x" * 129, "<script>"])
def test_request_without_valid_id_gets_a_new_one(server: Server, given: str | None) -> None:
    headers = {} if given is None else {"X_Request_Id": given}
    ids = {server.api.ask("GET", "/v1/accounts", **headers).headers["x-request-id"] for _ in range(2)}
    assert len(ids) == 2
    assert given not in ids


def test_unauthenticated_request_has_an_id(server: Server) -> None:
    reply = server.api.ask("POST", "/v1/jobs", b"{", X_Request_Id="broken")
    assert (reply.status, reply.json["request_id"], reply.headers["x-request-id"]) == (400, "broken", "broken")
    stranger = server.api.ask("GET", "/v1/jobs", Authorization="Bearer wrong", X_Request_Id="stranger")
    assert (stranger.status, stranger.json["request_id"]) == (401, "stranger")


def test_every_response_has_rate_limit_headers(server: Server) -> None:
    headers = server.api.ask("GET", "/v1/accounts").headers
    assert headers["ratelimit-limit"] == "1000"
    assert 0 <= int(headers["ratelimit-remaining"]) < 1000
    assert int(headers["ratelimit-reset"]) >= 1


def test_rate_limit_counts_each_key_separately(strict: Server) -> None:
    replies = [strict.api.ask("GET", "/v1/accounts") for _ in range(6)]
    assert [reply.status for reply in replies] == [200] * 4 + [429] * 2
    assert [reply.headers["ratelimit-remaining"] for reply in replies] == ["3", "2", "1", "0", "0", "0"]
    refused = replies[-1]
    assert refused.headers["content-type"] == "application/problem+json"
    assert 90 < int(refused.headers["retry-after"]) <= 100
    assert refused.json["request_id"] == refused.headers["x-request-id"]
    assert strict.api.ask("GET", "/v1/accounts", Authorization="Bearer another").status == 401
    assert strict.api.ask("GET", "/health/live").status == 200


def test_invented_keys_count_against_the_address(strict: Server) -> None:
    invented = [strict.api.ask("GET", "/v1/accounts", Authorization=f"Bearer postino_{n:043}") for n in range(6)]
    statuses = [reply.status for reply in invented]
    assert statuses == sorted(statuses)
    assert (statuses[0], statuses[-1]) == (401, 429)


def test_large_responses_are_compressed_if_accepted(server: Server) -> None:
    put(server.api, type="large", payload={"text": "again and again " * 1000}, run_at="2099-01-01T00:00:00Z")
    plain = server.api.ask("GET", "/v1/jobs?type=large")
    packed = server.api.ask("GET", "/v1/jobs?type=large", Accept_Encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert len(packed.body) < len(plain.body) / 5
    assert json.loads(gzip.decompress(packed.body)) == plain.json
    assert "content-encoding" not in server.api.ask("GET", "/health/live", Accept_Encoding="gzip").headers


def hash_headers(**headers: str) -> str | None:
    return hash_credential(
        {"type": "http", "headers": [(name.encode(), text.encode()) for name, text in headers.items()]}
    )


def test_caller_is_recognised_however_its_key_is_written() -> None:
    assert len({hash_headers(authorization=text) for text in ("Bearer k", "Bearer   k ", "bearer k", "BEARER k")}) == 1
    assert hash_headers(authorization="Bearer k") != hash_headers(authorization="Bearer K")
    cookies = ("__Host-postino=k", "a=1; __Host-postino=k", "__Host-postino=k;  b=2")
    assert len({hash_headers(cookie=text) for text in cookies}) == 1
    assert hash_headers(authorization="Basic k") is hash_headers(cookie="a=1") is hash_headers() is None
