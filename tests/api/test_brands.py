"""`/v1/brands`, `/v1/workers`, `/v1/quotas` and `/v1/stats`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from postino.values.outcome import Done, Reject
from tests.api.fake_worker import key_for, work
from tests.api.processes import Client, Server

BLUESKY = {"network": "bluesky", "credentials": {"password": "x"}}


def account(client: Client, handle: str, **more: Any) -> str:
    reply = client.ask("POST", "/v1/accounts", BLUESKY | {"handle": handle} | more)
    assert reply.status == 201, reply
    name: str = reply.json["id"]
    return name


def publish(client: Client, text: str, name: str, **more: Any) -> str:
    reply = client.ask("POST", "/v1/posts", {"text": text, "accounts": [name], **more})
    assert reply.status in (201, 202), reply
    job: str = reply.json["id"]
    return job


def test_brands_are_listed_with_counts_of_accounts_and_posts(server: Server) -> None:
    acme, other = key_for(server, "acme"), key_for(server, "other")
    name = account(acme, "acme.example.org", brand="acme")
    publish(acme, "Done", name)
    work(server)
    publish(acme, "Failed", name)
    work(server, lambda _: Reject("no"))
    publish(acme, "Later", name, at=(datetime.now(UTC) + timedelta(days=1)).isoformat())
    [result] = acme.get("/v1/brands")["data"]
    assert (result["brand"], result["accounts"]) == ("acme", 1)
    assert result["posts"] == {"scheduled": 1, "published": 1, "failed": 1}
    assert other.get("/v1/brands")["data"] == []
    assert result in server.api.get("/v1/brands")["data"]
    assert server.api.ask("GET", "/v1/brands?x=1").json["field"] == "x"


def test_stats_cover_only_visible_posts(server: Server) -> None:
    mine, other = key_for(server, "figures"), key_for(server, "others")
    name = account(mine, "figures.example.org", brand="figures")
    for text in ("One", "Two", "Three"):
        publish(mine, text, name)
        work(server, lambda job: Reject("no") if b"Three" in job.payload else Done(remote_id=str(job.id)))
    response = mine.get("/v1/stats?window=3600")
    assert (response["published"], response["failed"], response["success_rate"], response["on_time_rate"]) == (
        2,
        1,
        0.6667,
        1,
    )
    assert 0 <= response["late_p50"] <= response["late_p95"] <= response["late_p99"] < 30
    assert response["complete"] is True
    assert response["networks"]["bluesky"]["published"] == 2
    assert mine.get("/v1/stats?network=mastodon")["published"] == 0
    assert other.get("/v1/stats")["published"] == other.get("/v1/stats?brand=figures")["published"] == 0
    assert server.api.get("/v1/stats")["published"] >= 2
    for wrong, field in (("window=0", "window"), ("window=x", "window"), ("windw=1", "windw")):
        reply = server.api.ask("GET", f"/v1/stats?{wrong}")
        assert (reply.status, reply.json["field"]) == (422, field)


def test_quotas_are_listed_for_each_account(server: Server) -> None:
    mine, other = key_for(server, "quotas"), key_for(server, "others")
    names = [account(mine, f"q{number}.example.org", brand="quotas") for number in range(3)]
    response = mine.get("/v1/quotas")["data"]
    assert {one["account"] for one in response} == {*names}
    assert all(one["remaining"] == one["limit"] and one["free_at"] for one in response)
    first = mine.get("/v1/quotas?limit=2")
    assert first["next_cursor"] == names[1]
    rest = mine.get(f"/v1/quotas?limit=2&cursor={first['next_cursor']}")
    assert ({one["account"] for one in rest["data"]}, rest["next_cursor"]) == ({names[2]}, None)
    assert {one["account"] for one in mine.get(f"/v1/quotas?account={names[0]}")["data"]} == {names[0]}
    assert other.get("/v1/quotas")["data"] == []
    assert server.api.ask("GET", "/v1/quotas?limit=x").json["field"] == "limit"


def test_workers_need_access_to_all_brands(server: Server) -> None:
    assert server.api.get("/v1/workers")["data"] == []
    assert key_for(server, "acme").ask("GET", "/v1/workers").status == 403


def test_account_changes_brand_only_without_waiting_posts(
    server: Server,
) -> None:
    before, other = key_for(server, "before", role="editor"), key_for(server, "after", role="editor")
    name = account(server.api, "moves.example.org", brand="before")
    failed = publish(before, "Failed before", name)
    work(server, lambda _: Reject("no"))
    waiting = publish(before, "Waits", name, at="2035-01-01T00:00Z")
    move = {"credentials": {"password": "y"}, "brand": "after"}
    refused = server.api.ask("POST", f"/v1/accounts/{name}/reconnect", move)
    assert (refused.status, "1 of its posts is waiting" in refused.json["detail"]) == (409, True)
    assert before.ask("PATCH", f"/v1/posts/{waiting}", {"text": "Ours"}).status == 200
    assert before.ask("POST", f"/v1/posts/{waiting}/cancel").status == 200
    assert server.api.ask("POST", f"/v1/accounts/{name}/reconnect", move).json["brand"] == "after"
    for path in (f"posts/{failed}/replay", f"jobs/{failed}/replay", f"dead-letters/{failed}/replay"):
        reply = before.ask("POST", f"/v1/{path}", {"force": True})
        assert (reply.status, "moved to a brand that you have no access to" in reply.json["detail"]) == (409, True)
        assert "after" not in reply.json["detail"]
    [one] = before.ask("POST", "/v1/jobs/bulk", {"action": "replay", "ids": [failed], "force": True}).json["data"]
    assert one["done"] is False
    assert before.get(f"/v1/posts/{failed}")["text"] == "Failed before"
    assert other.ask("GET", f"/v1/posts/{failed}").status == 404
    assert server.api.ask("POST", f"/v1/posts/{failed}/replay", {"force": True}).status == 200
