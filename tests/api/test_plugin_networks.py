"""A network of a plug-in works like the built-in ones throughout the API."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.processes import Server
from tests.providers.test_registry import FORUM

PUBLIC = "https://forum.example.org"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("own") / "data"
    folder.mkdir()
    (folder / "forum.py").write_text(FORUM)
    settings = {
        "POSTINO_NETWORKS_PLUGINS": '["forum:Forum"]',
        "POSTINO_NETWORKS_ALLOWED_PRIVATE_ORIGINS": '["http://10.0.0.7:8080"]',
    }
    with Server(folder, **settings) as server:
        made = {"network": "forum", "handle": "ada", "base_url": PUBLIC, "credentials": {"token": "x"}}
        assert server.api.ask("POST", "/v1/accounts", made).status == 201
        yield server


@pytest.mark.parametrize(
    ("account", "field", "message"),
    [
        ({"credentials": {"password": "x"}}, "credentials", "token is missing. Token (your profile → Access)."),
        ({"network": "forums"}, "network", "It publishes to: bluesky, mastodon, telegram, forum."),
        ({"base_url": "http://127.0.0.1:8790"}, "base_url", "leads to this machine or a private network"),
        ({"base_url": "http://10.0.0.8:8080"}, "base_url", "leads to this machine or a private network"),
    ],
)
def test_invalid_account_field_is_named(server: Server, account: dict[str, object], field: str, message: str) -> None:
    wanted = {"network": "forum", "handle": "bob", "base_url": PUBLIC, "credentials": {"token": "x"}} | account
    refused = server.api.ask("POST", "/v1/accounts", wanted)
    assert (refused.status, refused.json["field"]) == (422, field)
    assert message in refused.json["detail"]


def test_allowed_private_server_is_accepted(server: Server) -> None:
    wanted = {"network": "forum", "handle": "carla", "base_url": "http://10.0.0.7:8080", "credentials": {"token": "x"}}
    assert server.api.ask("POST", "/v1/accounts", wanted).status == 201


@pytest.mark.parametrize("path", ["/v1/posts", "/v1/posts/validate", "/v1/drafts"])
def test_override_for_an_unknown_network_is_rejected(server: Server, path: str) -> None:
    wrong = {"text": "Hello", "accounts": ["forum:ada"], "overrides": {"forun": {"text": "Hello, forum"}}}
    assert b"network 'forun' does not exist. Did you mean forum?" in server.api.ask("POST", path, wrong).body


def test_channel_of_a_plugin_network_is_reserved_for_posts(server: Server) -> None:
    refused = server.api.ask("POST", "/v1/jobs", {"type": "crm.sync", "channel": "forum"})
    assert (refused.status, refused.json["field"]) == (422, "channel")


def test_plugin_network_has_all_features(server: Server) -> None:
    def done(method: str, path: str, body: object = None) -> dict[str, object]:
        reply = server.api.ask(method, path, body)
        assert reply.status in (200, 202), reply
        response: dict[str, object] = reply.json
        return response

    wish = {"text": "All", "accounts": ["forum:ada"], "overrides": {"forum": {"text": "You"}}}
    made = done("POST", "/v1/posts", wish)
    assert (made["network"], made["text"]) == ("forum", "All")
    judged = done("POST", "/v1/posts/validate", {"text": "a" * 501, "accounts": ["forum:ada"]})
    assert judged["valid"] is False
    assert [post["id"] for post in server.api.get("/v1/posts?network=forum")["data"]] == [made["id"]]
    assert [quota["limit"] for quota in server.api.get("/v1/quotas?account=forum:ada")["data"]] == [60]
    assert done("POST", "/v1/circuits/forum/open", {"reason": "a try", "seconds": 60})["state"] == "open"
    assert done("POST", "/v1/channels/forum/cap", {"cap": 3})["cap"] == 3
    night = {"scope": "channel", "channel": "forum", "start": "22:00", "end": "07:00", "timezone": "Europe/Rome"}
    assert done("POST", "/v1/blackouts?preview=true", night)["channel"] == "forum"
    assert done("GET", f"/v1/posts/{made['id']}/explain")["runnable"] is False
