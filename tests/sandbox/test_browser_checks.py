"""No web page can use the sandbox through a browser: not across sites, and not by DNS rebinding."""

from __future__ import annotations

import pytest

from tests.sandbox.sandbox_client import SandboxClient

FAULT = {"network": "x", "fault": "drop"}
FOREIGN_HOSTS = [
    "evil.example", "evil.example:8701", "127.0.0.1.nip.io", "localhost.evil.example", "127.0.0.1@evil.example",
    "127.0.0.1:80:80", "evil.example#127.0.0.1", "[::1", "2130706433", "", "router", "127.0.0.1 evil.example",
]  # fmt: skip
FOREIGN_PAGES = [
    {"Origin": "https://elsewhere.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://localhost"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
]
REQUESTS = [
    ("POST", "/_sandbox/faults"), ("POST", "/_sandbox/reset"), ("DELETE", "/_sandbox/faults"),
    ("POST", "/_sandbox/settings"), ("GET", "/_sandbox/published"), ("GET", "/_sandbox/accounts"),
    ("GET", "/telegram/bot1:2/sendMessage"), ("POST", "/mastodon/api/v1/statuses"), ("OPTIONS", "/_sandbox/reset"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), REQUESTS)
async def test_request_of_a_foreign_web_page_is_refused(sandbox: SandboxClient, method: str, path: str) -> None:
    for headers in FOREIGN_PAGES:
        assert (await sandbox.call(method, path, headers=headers)).status == 403, headers
    for host in FOREIGN_HOSTS:
        response = await sandbox.call(method, path, headers={"Host": host})
        assert response.status in (400, 403), host
    assert (await sandbox.get("/_sandbox/published")).json["epoch"] == 1
    assert (await sandbox.get("/_sandbox/calls/log")).json["data"] == []


async def test_two_host_headers_are_refused(sandbox: SandboxClient) -> None:
    own = sandbox.url.removeprefix("http://")
    response = await sandbox.post("/_sandbox/reset", {}, headers=[("Host", own), ("Host", "evil.example")])
    assert response.status in (400, 403)


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}])
async def test_own_page_and_programs_may_use_the_admin_api(sandbox: SandboxClient, headers: dict[str, str]) -> None:
    assert (await sandbox.post("/_sandbox/faults", FAULT, headers=headers)).status == 201
    own = await sandbox.post("/_sandbox/faults", FAULT, headers={"Origin": sandbox.url, **headers})
    assert own.status == 201
    local = {"Host": f"localhost:{sandbox.url.rpartition(':')[2]}", **headers}
    assert (await sandbox.get("/_sandbox/published", headers=local)).status == 200


async def test_other_sites_may_link_to_the_feed_and_show_its_images(sandbox: SandboxClient) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    image = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}
    assert (await sandbox.get("/", headers=link)).status == 200
    assert (await sandbox.get("/_sandbox/media/sample.jpg", headers=image)).status == 200
    assert (await sandbox.get("/", headers=image)).status == 403
