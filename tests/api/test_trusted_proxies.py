"""`X-Forwarded-For` says who the client is only if a proxy sends it that the settings name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.browser import add_user, log_in
from tests.api.processes import Client, Server

HTTPS = {"X_Forwarded_Proto": "https"}
ATTEMPTS = 30
STRICT = {"POSTINO_API_RATE": "0.01", "POSTINO_API_BURST": "10"}


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("direct") / "data", **STRICT) as server:
        yield server


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {**STRICT, "POSTINO_API_TRUSTED_PROXIES": '["127.0.0.0/8"]'}
    with Server(tmp_path_factory.mktemp("proxied") / "data", **settings) as server:
        yield server


def guess(server: Server, address: str) -> int:
    stranger = Client(server.api.url, {"Authorization": "Bearer postino_wrong"})
    return stranger.ask("GET", "/v1/jobs", X_Forwarded_For=address).status


def test_rotating_forwarded_addresses_share_one_budget(direct: Server) -> None:
    statuses = [guess(direct, f"203.0.113.{number}") for number in range(ATTEMPTS)]
    assert statuses == [401] * 10 + [429] * (ATTEMPTS - 10)


def test_rotating_names_and_addresses_do_not_pass_the_sign_in_throttle(proxied: Server, direct: Server) -> None:
    chain = [f"198.51.100.{number}, 203.0.113.50" for number in range(ATTEMPTS)]  # the first part is the client's own
    statuses = [
        log_in(proxied, f"user {number}", "wrong", X_Forwarded_For=text, **HTTPS).status
        for number, text in enumerate(chain)
    ]
    assert statuses == [401] * 10 + [429] * (ATTEMPTS - 10)


def test_trusted_proxy_tells_clients_apart(proxied: Server) -> None:
    assert [guess(proxied, "203.0.113.60") for _ in range(11)] == [401] * 10 + [429]
    assert [guess(proxied, "198.51.100.9, 203.0.113.60") for _ in range(2)] == [429] * 2
    assert guess(proxied, "203.0.113.61") == 401
    add_user(proxied, "ada")
    assert log_in(proxied, "ada", X_Forwarded_For="203.0.113.62", **HTTPS).status == 200
    assert log_in(proxied, "ada", X_Forwarded_For="203.0.113.63").status == 403  # over http


@pytest.mark.parametrize("name", ["X_Forwarded_For", "X_Forwarded_Proto", "Forwarded", "X_Real_IP", "Via"])
def test_forwarded_request_of_an_unknown_proxy_is_not_local(server: Server, name: str) -> None:
    reply = Client(server.api.url).ask("POST", "/v1/login", {"name": "ada", "password": "x"}, **{name: "https"})
    assert (reply.status, "api.trusted_proxies" in reply.json["detail"]) == (403, True)
