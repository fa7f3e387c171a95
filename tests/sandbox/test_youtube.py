"""YouTube in the sandbox: resumable uploads, private until an update makes them public."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.sandbox_client import SandboxClient, SandboxResponse
from tests.sandbox.scripted_calls import UPLOADS, VIDEO, bearer

PIECE = 256 * 1024
FILM = bytes(range(256)) * 1024 * 2 + b"the end"
API = "/youtube/youtube/v3"


class Channel:
    def __init__(self, sandbox: SandboxClient, account: dict[str, Any]) -> None:
        self.sandbox = sandbox
        self.account = account
        self.credentials = account["credentials"]

    @property
    def auth(self) -> dict[str, Any]:
        return bearer(self.credentials["access_token"])

    async def start(self, body: Any = VIDEO, path: str = UPLOADS) -> SandboxResponse:
        return await self.sandbox.post(path, body, **self.auth)

    async def session(self) -> str:
        return (await self.start()).headers["Location"].removeprefix(self.sandbox.url)

    async def put(self, session: str, first: int, last: int, total: int = len(FILM)) -> SandboxResponse:
        options = {"data": FILM[first : last + 1], "headers": {"Content-Range": f"bytes {first}-{last}/{total}"}}
        return await self.sandbox.call("PUT", session, **options, allow_redirects=False)

    async def status(self, session: str) -> SandboxResponse:
        headers = {"Content-Range": f"bytes */{len(FILM)}"}
        return await self.sandbox.call("PUT", session, headers=headers, allow_redirects=False)

    async def video(self) -> str:
        return str((await self.sandbox.call("PUT", await self.session(), data=FILM)).json["id"])

    async def update(self, part: str, **body: Any) -> SandboxResponse:
        return await self.sandbox.call("PUT", f"{API}/videos?part={part}", json=body, **self.auth)

    async def get(self, path: str) -> SandboxResponse:
        return await self.sandbox.get(f"{API}/{path}", **self.auth)


@pytest.fixture
async def our_channel(sandbox: SandboxClient) -> Channel:
    await sandbox.post("/_sandbox/settings", {"youtube_processing_seconds": 0})
    return Channel(sandbox, await sandbox.account("youtube"))


async def test_upload_in_pieces_reports_its_progress(our_channel: Channel) -> None:
    session = await our_channel.session()
    first_response = await our_channel.status(session)
    assert (first_response.status, "Range" in first_response.headers) == (308, False)
    first = await our_channel.put(session, 0, PIECE - 1)
    assert (first.status, first.headers["Range"]) == (308, f"bytes=0-{PIECE - 1}")
    assert (await our_channel.status(session)).headers["Range"] == f"bytes=0-{PIECE - 1}"
    again = await our_channel.put(session, 0, PIECE - 1)
    assert (again.status, again.headers["Range"]) == (308, f"bytes=0-{PIECE - 1}")
    done = await our_channel.put(session, PIECE, len(FILM) - 1)
    assert (done.status, done.json["status"]["privacyStatus"]) == (200, "private")
    assert (await our_channel.status(session)).json["id"] == done.json["id"]
    assert await our_channel.sandbox.list_published() == []


async def test_lost_response_to_the_last_piece_can_be_read_again(our_channel: Channel) -> None:
    session = await our_channel.session()
    await our_channel.sandbox.fault("youtube", "process_then_500", endpoint="upload_bytes")
    assert (await our_channel.sandbox.call("PUT", session, data=FILM)).status == 500
    assert (await our_channel.status(session)).status == 200


async def test_pieces_out_of_order_are_refused(our_channel: Channel) -> None:
    session = await our_channel.session()
    assert (await our_channel.put(session, 0, 999)).status == 400
    assert (await our_channel.put(session, 0, len(FILM) - 1, total=10)).status == 400
    headers = {"Content-Range": "bytes what/ever"}
    assert (await our_channel.sandbox.call("PUT", session, data=b"x", headers=headers)).status == 400


async def test_deleted_session_stays_deleted(our_channel: Channel) -> None:
    session = await our_channel.session()
    await our_channel.sandbox.fault("youtube", "session_gone", endpoint="upload_bytes")
    assert (await our_channel.put(session, 0, PIECE - 1)).status == 404
    assert (await our_channel.status(session)).status == 404
    other = await our_channel.session()
    await our_channel.sandbox.post("/_sandbox/settings", {"youtube_session_seconds": 0})
    assert (await our_channel.status(other)).status == 404


async def test_making_a_video_public_publishes_it_once(our_channel: Channel) -> None:
    video = await our_channel.video()
    for _ in range(2):
        response = await our_channel.update("status", id=video, status={"privacyStatus": "public"})
        assert response.json["status"]["privacyStatus"] == "public"
    [result] = await our_channel.sandbox.list_published()
    assert (result["remote_id"], result["title"], result["text"]) == (video, "A view", "hello")
    assert len(result["media"]) == 1


async def test_video_uploaded_as_public_is_published_at_once(our_channel: Channel) -> None:
    response = await our_channel.start(VIDEO | {"status": {"privacyStatus": "public"}})
    await our_channel.sandbox.call("PUT", response.headers["Location"].removeprefix(our_channel.sandbox.url), data=FILM)
    assert len(await our_channel.sandbox.list_published()) == 1


async def test_uploads_are_listed_newest_first_with_private_ones(our_channel: Channel) -> None:
    channel = (await our_channel.get("channels?part=contentDetails&mine=true")).json["items"][0]
    playlist = channel["contentDetails"]["relatedPlaylists"]["uploads"]
    videos = [await our_channel.video() for _ in range(3)]
    path = f"playlistItems?part=snippet,contentDetails,status&playlistId={playlist}&maxResults=2"
    first = (await our_channel.get(path)).json
    assert [it["contentDetails"]["videoId"] for it in first["items"]] == videos[:0:-1]
    rest = (await our_channel.get(f"{path}&pageToken={first['nextPageToken']}")).json
    assert [it["snippet"]["title"] for it in rest["items"]] == ["A view"]
    assert (await our_channel.get("playlistItems?part=snippet&playlistId=UUother")).status == 404


async def test_video_reports_when_it_is_processed(our_channel: Channel) -> None:
    video = await our_channel.video()
    [result] = (await our_channel.get(f"videos?part=status,processingDetails&id={video},missing")).json["items"]
    assert result["status"]["uploadStatus"] == "processed"
    assert result["processingDetails"]["processingStatus"] == "succeeded"


async def test_duplicate_upload_is_refused_if_enabled(our_channel: Channel) -> None:
    await our_channel.sandbox.post("/_sandbox/settings", {"youtube_refuses_duplicates": 1})
    first, second = await our_channel.video(), await our_channel.video()
    body = (await our_channel.get(f"videos?part=status&id={first},{second}")).json["items"]
    assert [it["status"].get("rejectionReason") for it in body] == [None, "duplicate"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"snippet": {"title": " "}}, "invalidTitle"),
        ({"snippet": {"title": "x" * 101}}, "invalidTitle"),
        ({"snippet": {"title": "a <b>"}}, "invalidTitle"),
        ({"snippet": {"title": "x", "description": "é" * 2501}}, "invalidDescription"),
        ({"snippet": {"title": "x", "tags": ["x" * 501]}}, "invalidTags"),
        ({"snippet": {"title": "x", "categoryId": "music"}}, "invalidCategoryId"),
        ({"snippet": {"title": "x", "colour": "red"}}, "badRequest"),
        ({"snippet": {"title": "x"}, "status": {"privacyStatus": "secret"}}, "badRequest"),
        ({"colour": "red"}, "badRequest"),
    ],
)
async def test_invalid_videos_are_refused(our_channel: Channel, body: dict[str, Any], reason: str) -> None:
    response = await our_channel.start(body)
    assert (response.status, response.json["error"]["errors"][0]["reason"]) == (400, reason)


async def test_uploads_per_day_are_limited(our_channel: Channel) -> None:
    await our_channel.sandbox.post("/_sandbox/settings", {"youtube_uploads_per_day": 1})
    assert (await our_channel.start()).status == 200
    assert (await our_channel.start()).json["error"]["errors"][0]["reason"] == "uploadLimitExceeded"


async def test_part_parameter_is_required(our_channel: Channel) -> None:
    response = await our_channel.start(path=UPLOADS.replace(",status", ""))
    assert response.json["error"]["errors"][0]["reason"] == "unexpectedPart"


async def test_refresh_token_stays_valid(our_channel: Channel) -> None:
    form = {name: our_channel.credentials[name] for name in ("refresh_token", "client_id", "client_secret")}
    form["grant_type"] = "refresh_token"
    for _ in range(2):
        response = await our_channel.sandbox.call("POST", "/youtube/token", data=form)
        assert (response.status, "refresh_token" in response.json) == (200, False)
    our_channel.credentials["access_token"] = response.json["access_token"]
    assert (await our_channel.start()).status == 200
    wrong = await our_channel.sandbox.call("POST", "/youtube/token", data=form | {"client_secret": "guessed"})
    assert wrong.json["error"] == "invalid_client"
    dead = await our_channel.sandbox.call("POST", "/youtube/token", data=form | {"refresh_token": "guessed"})
    assert (dead.status, dead.json["error"]) == (400, "invalid_grant")


async def test_unauthenticated_and_foreign_calls_are_refused(our_channel: Channel) -> None:
    other = Channel(our_channel.sandbox, await our_channel.sandbox.account("youtube"))
    video = await other.video()
    assert (await our_channel.update("status", id=video, status={"privacyStatus": "public"})).status == 404
    our_channel.credentials["access_token"] = "guessed"
    assert (await our_channel.start()).json["error"]["errors"][0]["reason"] == "authError"
