"""Instagram in the sandbox: create a container, wait, publish it once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.sandbox_client import SandboxClient, SandboxResponse
from tests.sandbox.scripted_calls import bearer


class Profile:
    def __init__(self, sandbox: SandboxClient, account: dict[str, Any]) -> None:
        self.sandbox = sandbox
        self.account = account
        self.path = f"/instagram/v24.0/{account['remote_id']}"
        self.token = account["credentials"]["access_token"]
        self.picture = f"{sandbox.url}/_sandbox/media/sample.jpg"
        self.film = f"{sandbox.url}/_sandbox/media/sample.mp4"

    async def post(self, path: str, **form: Any) -> SandboxResponse:
        return await self.sandbox.call("POST", path, data=form, **bearer(self.token))

    async def get(self, path: str, **query: Any) -> SandboxResponse:
        return await self.sandbox.get(path, params=query, **bearer(self.token))

    async def container(self, **form: Any) -> str:
        response = await self.post(f"{self.path}/media", **form)
        assert response.status == 200, response.text
        return str(response.json["id"])

    async def status(self, container: str) -> str:
        return str((await self.get(f"/instagram/{container}", fields="status_code")).json["status_code"])

    async def publish(self, container: str) -> SandboxResponse:
        return await self.post(f"{self.path}/media_publish", creation_id=container)

    async def get_error_codes(self, response: SandboxResponse) -> tuple[int, int | None]:
        assert response.status >= 400, response.text
        body = response.json["error"]
        return body["code"], body.get("error_subcode")


@pytest.fixture
async def profile(sandbox: SandboxClient) -> Profile:
    await sandbox.post("/_sandbox/settings", {"instagram_container_seconds": 0})
    return Profile(sandbox, await sandbox.account("instagram"))


async def test_container_is_created_processed_and_published(profile: Profile) -> None:
    await profile.sandbox.post("/_sandbox/settings", {"instagram_container_seconds": 600})
    container = await profile.container(image_url=profile.picture, caption="A view", alt_text="a sunset")
    assert await profile.status(container) == "IN_PROGRESS"
    assert await profile.get_error_codes(await profile.publish(container)) == (9007, 2207027)
    await profile.sandbox.post("/_sandbox/settings", {"instagram_container_seconds": 0})
    assert await profile.status(container) == "FINISHED"
    assert await profile.sandbox.list_published() == []
    media = (await profile.publish(container)).json["id"]
    assert await profile.status(container) == "PUBLISHED"
    [result] = await profile.sandbox.list_published()
    assert (result["remote_id"], result["text"], result["media"][0]["alt"]) == (media, "A view", "a sunset")
    listed = await profile.get(f"{profile.path}/media", fields="id,caption,timestamp")
    assert [(it["id"], it["caption"]) for it in listed.json["data"]] == [(media, "A view")]
    assert media in (await profile.get(f"/instagram/{media}", fields="permalink")).json["permalink"]


async def test_container_is_published_once(profile: Profile) -> None:
    container = await profile.container(image_url=profile.picture)
    assert (await profile.publish(container)).status == 200
    assert await profile.get_error_codes(await profile.publish(container)) == (24, 2207008)
    assert len(await profile.sandbox.list_published()) == 1


async def test_container_published_despite_an_error_says_so(profile: Profile) -> None:
    container = await profile.container(image_url=profile.picture)
    await profile.sandbox.fault("instagram", "error_but_published")
    assert await profile.get_error_codes(await profile.publish(container)) == (4, 2207051)
    assert await profile.status(container) == "PUBLISHED"


async def test_carousel_consists_of_containers(profile: Profile) -> None:
    items = [await profile.container(image_url=profile.picture, is_carousel_item="true") for _ in range(2)]
    alone = await profile.container(image_url=profile.picture)
    carousel = await profile.container(media_type="CAROUSEL", children=",".join(items), caption="Two views")
    assert (await profile.publish(carousel)).status == 200
    assert len((await profile.sandbox.list_published())[0]["media"]) == 2
    assert await profile.get_error_codes(await profile.publish(items[0])) == (100, 2207028)
    for children in (items[0], ",".join([items[0], alone]), ",".join([items[0], "7"]), ",".join(items * 6)):
        response = await profile.post(f"{profile.path}/media", media_type="CAROUSEL", children=children)
        assert await profile.get_error_codes(response) == (100, 2207028)


async def test_unusable_video_is_reported_in_the_status(profile: Profile) -> None:
    good = await profile.container(media_type="REELS", video_url=profile.film)
    assert await profile.status(good) == "FINISHED"
    bad = await profile.container(media_type="REELS", video_url=profile.picture)
    assert await profile.status(bad) == "ERROR"
    body = await profile.get(f"/instagram/{bad}", fields="status")
    assert "2207026" in body.json["status"]
    assert (await profile.publish(bad)).status == 400


@pytest.mark.parametrize(
    ("form", "code"),
    [
        ({}, (100, None)),
        ({"image_url": "{url}/missing.jpg"}, (9004, 2207052)),
        ({"image_url": "{url}/sample.png"}, (36001, 2207005)),
        ({"image_url": "{url}/sample.jpg", "caption": "x" * 2201}, (36004, 2207010)),
        ({"image_url": "{url}/sample.jpg", "media_type": "SONG"}, (100, 2207023)),
        ({"image_url": "{url}/sample.jpg", "colour": "red"}, (100, None)),
    ],
)
async def test_invalid_containers_are_refused(
    profile: Profile, form: dict[str, str], code: tuple[int, int | None]
) -> None:
    body = {name: value.replace("{url}", f"{profile.sandbox.url}/_sandbox/media") for name, value in form.items()}
    assert await profile.get_error_codes(await profile.post(f"{profile.path}/media", **body)) == code


async def test_container_expires_after_a_day_or_on_request(profile: Profile) -> None:
    first, second = [await profile.container(image_url=profile.picture) for _ in range(2)]
    await profile.sandbox.fault("instagram", "session_gone", endpoint="media_publish")
    assert await profile.get_error_codes(await profile.publish(first)) == (24, 2207008)
    assert await profile.status(first) == "EXPIRED"
    await profile.sandbox.post("/_sandbox/settings", {"instagram_container_lifetime_seconds": 0})
    assert await profile.status(second) == "EXPIRED"
    assert await profile.get_error_codes(await profile.publish("7")) == (24, 2207006)
    assert await profile.sandbox.list_published() == []


async def test_quota_is_reported_and_enforced(profile: Profile) -> None:
    await profile.sandbox.post("/_sandbox/settings", {"instagram_quota": 1})
    path = f"{profile.path}/content_publishing_limit"
    containers = [await profile.container(image_url=profile.picture) for _ in range(2)]
    assert (await profile.publish(containers[0])).status == 200
    body = await profile.get(path, fields="quota_usage,config")
    assert body.json["data"] == [{"quota_usage": 1, "config": {"quota_total": 1, "quota_duration": 86400}}]
    assert await profile.get_error_codes(await profile.publish(containers[1])) == (9, 2207042)


async def test_comments_are_posted_and_listed(profile: Profile) -> None:
    media = (await profile.publish(await profile.container(image_url=profile.picture))).json["id"]
    comment = (await profile.post(f"/instagram/{media}/comments", message="First!")).json["id"]
    listed = (await profile.get(f"/instagram/{media}/comments")).json["data"]
    assert [(it["id"], it["text"]) for it in listed] == [(comment, "First!")]
    result = (await profile.sandbox.list_published())[-1]
    assert (result["kind"], result["reply_to"], result["text"]) == ("comment", media, "First!")
    assert (await profile.post(f"/instagram/{media}/comments", message=" ")).status == 400
    assert await profile.get_error_codes(await profile.post("/instagram/7/comments", message="x")) == (100, 33)


async def test_token_is_renewed_and_the_old_one_stays_valid(profile: Profile) -> None:
    query = {"grant_type": "ig_refresh_token", "access_token": profile.token}
    response = await profile.sandbox.get("/instagram/refresh_access_token", params=query)
    assert response.json["expires_in"] == 60 * 24 * 3600
    old, profile.token = profile.token, response.json["access_token"]
    assert old != profile.token
    assert (await profile.get(f"{profile.path}/media")).status == 200
    await profile.sandbox.post("/_sandbox/settings", {"instagram_refresh_after_seconds": 86400})
    query["access_token"] = profile.token
    assert (await profile.sandbox.get("/instagram/refresh_access_token", params=query)).json["error"]["code"] == 10
    await profile.sandbox.post(f"/_sandbox/accounts/instagram/{profile.account['handle']}", {"token_expired": True})
    assert await profile.get_error_codes(await profile.get(f"{profile.path}/media")) == (190, 463)


async def test_lists_are_paginated_and_filtered_by_time(profile: Profile) -> None:
    for number in range(3):
        await profile.publish(await profile.container(image_url=profile.picture, caption=f"{number}"))
    first = (await profile.get(f"{profile.path}/media", fields="caption", limit=2)).json
    assert [it["caption"] for it in first["data"]] == ["2", "1"]
    after = first["paging"]["cursors"]["after"]
    rest = (await profile.get(f"{profile.path}/media", fields="caption", limit=2, after=after)).json
    assert [it["caption"] for it in rest["data"]] == ["0"]
    assert (await profile.get(f"{profile.path}/media", since=4_000_000_000)).json["data"] == []
    assert (await profile.get(f"{profile.path}/media", since="soon")).status == 400
    assert (await profile.get(f"{profile.path}/media", fields="colour")).status == 400


async def test_unauthenticated_and_foreign_calls_are_refused(profile: Profile) -> None:
    other = Profile(profile.sandbox, await profile.sandbox.account("instagram"))
    assert await profile.get_error_codes(await profile.get(f"{other.path}/media")) == (100, 33)
    container = await other.container(image_url=profile.picture)
    assert await profile.get_error_codes(await profile.publish(container)) == (24, 2207006)
    profile.token = "guessed"
    assert await profile.get_error_codes(await profile.publish(container)) == (190, None)
