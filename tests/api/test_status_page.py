"""The status page, health checks and the OpenAPI document, which need no API key."""

from __future__ import annotations

import base64
import hashlib
import json
import re

from tests.api.processes import Client, Server


def test_page_needs_no_key_and_shows_nothing_private(server: Server) -> None:
    stranger = Client(server.api.url)
    reply = stranger.ask("GET", "/")
    page = reply.body.decode()
    assert reply.status == 200
    assert reply.headers["content-type"].startswith("text/html")
    assert "Postino is up" in page
    assert server.api.headers["Authorization"].removeprefix("Bearer ") not in page


def test_content_security_policy_allows_only_the_page_itself(server: Server) -> None:
    reply = Client(server.api.url).ask("GET", "/")
    page, policy = reply.body.decode(), reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        [text] = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert re.findall(r"(?:src|href)=\"[^\"]*\"", page) == []


def test_health_checks_need_no_key(server: Server) -> None:
    stranger = Client(server.api.url)
    assert stranger.get("/health/live") == {"status": "live"}
    assert stranger.get("/health/ready") == {"status": "ready", "database": "open"}


def test_openapi_document_needs_no_key(server: Server) -> None:
    body = Client(server.api.url).get("/v1/openapi.json")
    assert {"/v1/posts", "/v1/posts/{post_id}", "/v1/contents/{content_id}", "/v1/accounts"} <= set(body["paths"])
    assert "PostBody" in json.dumps(body["paths"]["/v1/posts"]["post"]["requestBody"])
