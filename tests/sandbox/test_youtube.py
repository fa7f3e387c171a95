"""YouTube: an upload that can be asked and resumed, private until an update makes it public."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.running import Answered, Sandbox
from tests.sandbox.scripts import UPLOADS, VIDEO, bearer

PIECE = 256 * 1024
FILM = bytes(range(256)) * 1024 * 2 + b"the end"
API = "/youtube/youtube/v3"


class Channel:
    def __init__(self, sandbox: Sandbox, account: dict[str, Any]) -> None:
        self.sandbox = sandbox
        self.account = account
        self.credentials = account["credentials"]

    @property
    def auth(self) -> dict[str, Any]:
        return bearer(self.credentials["access_token"])

    async def start(self, body: Any = VIDEO, path: str = UPLOADS) -> Answered:
        return await self.sandbox.post(path, body, **self.auth)

    async def session(self) -> str:
        return (await self.start()).headers["Location"].removeprefix(self.sandbox.url)

    async def put(self, session: str, first: int, last: int, total: int = len(FILM)) -> Answered:
        options = {"data": FILM[first : last + 1], "headers": {"Content-Range": f"bytes {first}-{last}/{total}"}}
        return await self.sandbox.call("PUT", session, **options, allow_redirects=False)

    async def status(self, session: str) -> Answered:
        headers = {"Content-Range": f"bytes */{len(FILM)}"}
        return await self.sandbox.call("PUT", session, headers=headers, allow_redirects=False)

    async def video(self) -> str:
        return str((await self.sandbox.call("PUT", await self.session(), data=FILM)).json["id"])

    async def update(self, part: str, **body: Any) -> Answered:
        return await self.sandbox.call("PUT", f"{API}/videos?part={part}", json=body, **self.auth)

    async def get(self, path: str) -> Answered:
        return await self.sandbox.get(f"{API}/{path}", **self.auth)


@pytest.fixture
async def ours(sandbox: Sandbox) -> Channel:
    await sandbox.post("/_sandbox/settings", {"youtube_processing_seconds": 0})
    return Channel(sandbox, await sandbox.account("youtube"))


async def test_an_upload_goes_in_pieces_and_tells_how_far_it_is(ours: Channel) -> None:
    session = await ours.session()
    asked = await ours.status(session)
    assert (asked.status, "Range" in asked.headers) == (308, False)
    first = await ours.put(session, 0, PIECE - 1)
    assert (first.status, first.headers["Range"]) == (308, f"bytes=0-{PIECE - 1}")
    assert (await ours.status(session)).headers["Range"] == f"bytes=0-{PIECE - 1}"
    again = await ours.put(session, 0, PIECE - 1)
    assert (again.status, again.headers["Range"]) == (308, f"bytes=0-{PIECE - 1}")
    done = await ours.put(session, PIECE, len(FILM) - 1)
    assert (done.status, done.json["status"]["privacyStatus"]) == (200, "private")
    assert (await ours.status(session)).json["id"] == done.json["id"]
    assert await ours.sandbox.published() == []


async def test_a_lost_answer_to_the_last_piece_can_be_asked_for(ours: Channel) -> None:
    session = await ours.session()
    await ours.sandbox.fault("youtube", "process_then_500", endpoint="upload_bytes")
    assert (await ours.sandbox.call("PUT", session, data=FILM)).status == 500
    assert (await ours.status(session)).status == 200


async def test_pieces_that_do_not_fit_are_refused(ours: Channel) -> None:
    session = await ours.session()
    assert (await ours.put(session, 0, 999)).status == 400
    assert (await ours.put(session, 0, len(FILM) - 1, total=10)).status == 400
    headers = {"Content-Range": "bytes what/ever"}
    assert (await ours.sandbox.call("PUT", session, data=b"x", headers=headers)).status == 400


async def test_a_session_that_is_gone_stays_gone(ours: Channel) -> None:
    session = await ours.session()
    await ours.sandbox.fault("youtube", "session_gone", endpoint="upload_bytes")
    assert (await ours.put(session, 0, PIECE - 1)).status == 404
    assert (await ours.status(session)).status == 404
    other = await ours.session()
    await ours.sandbox.post("/_sandbox/settings", {"youtube_session_seconds": 0})
    assert (await ours.status(other)).status == 404


async def test_making_it_public_publishes_it_once(ours: Channel) -> None:
    video = await ours.video()
    for _ in range(2):
        answer = await ours.update("status", id=video, status={"privacyStatus": "public"})
        assert answer.json["status"]["privacyStatus"] == "public"
    [seen] = await ours.sandbox.published()
    assert (seen["remote_id"], seen["title"], seen["text"]) == (video, "A view", "hello")
    assert len(seen["media"]) == 1


async def test_what_is_uploaded_as_public_is_public_at_once(ours: Channel) -> None:
    answer = await ours.start(VIDEO | {"status": {"privacyStatus": "public"}})
    await ours.sandbox.call("PUT", answer.headers["Location"].removeprefix(ours.sandbox.url), data=FILM)
    assert len(await ours.sandbox.published()) == 1


async def test_the_uploads_are_listed_the_newest_first_the_private_ones_too(ours: Channel) -> None:
    channel = (await ours.get("channels?part=contentDetails&mine=true")).json["items"][0]
    playlist = channel["contentDetails"]["relatedPlaylists"]["uploads"]
    videos = [await ours.video() for _ in range(3)]
    path = f"playlistItems?part=snippet,contentDetails,status&playlistId={playlist}&maxResults=2"
    first = (await ours.get(path)).json
    assert [it["contentDetails"]["videoId"] for it in first["items"]] == videos[:0:-1]
    rest = (await ours.get(f"{path}&pageToken={first['nextPageToken']}")).json
    assert [it["snippet"]["title"] for it in rest["items"]] == ["A view"]
    assert (await ours.get("playlistItems?part=snippet&playlistId=UUother")).status == 404


async def test_a_video_tells_when_it_is_processed(ours: Channel) -> None:
    video = await ours.video()
    [seen] = (await ours.get(f"videos?part=status,processingDetails&id={video},missing")).json["items"]
    assert seen["status"]["uploadStatus"] == "processed"
    assert seen["processingDetails"]["processingStatus"] == "succeeded"


async def test_the_same_bytes_twice_are_refused_if_one_wants_that(ours: Channel) -> None:
    await ours.sandbox.post("/_sandbox/settings", {"youtube_refuses_duplicates": 1})
    first, second = await ours.video(), await ours.video()
    told = (await ours.get(f"videos?part=status&id={first},{second}")).json["items"]
    assert [it["status"].get("rejectionReason") for it in told] == [None, "duplicate"]


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
async def test_videos_that_cannot_be_are_refused(ours: Channel, body: dict[str, Any], reason: str) -> None:
    answer = await ours.start(body)
    assert (answer.status, answer.json["error"]["errors"][0]["reason"]) == (400, reason)


async def test_only_so_many_uploads_a_day(ours: Channel) -> None:
    await ours.sandbox.post("/_sandbox/settings", {"youtube_uploads_per_day": 1})
    assert (await ours.start()).status == 200
    assert (await ours.start()).json["error"]["errors"][0]["reason"] == "uploadLimitExceeded"


async def test_parts_must_be_named(ours: Channel) -> None:
    answer = await ours.start(path=UPLOADS.replace(",status", ""))
    assert answer.json["error"]["errors"][0]["reason"] == "unexpectedPart"


async def test_the_refresh_token_stays_as_it_is(ours: Channel) -> None:
    form = {name: ours.credentials[name] for name in ("refresh_token", "client_id", "client_secret")}
    form["grant_type"] = "refresh_token"
    for _ in range(2):
        answer = await ours.sandbox.call("POST", "/youtube/token", data=form)
        assert (answer.status, "refresh_token" in answer.json) == (200, False)
    ours.credentials["access_token"] = answer.json["access_token"]
    assert (await ours.start()).status == 200
    wrong = await ours.sandbox.call("POST", "/youtube/token", data=form | {"client_secret": "guessed"})
    assert wrong.json["error"] == "invalid_client"
    dead = await ours.sandbox.call("POST", "/youtube/token", data=form | {"refresh_token": "guessed"})
    assert (dead.status, dead.json["error"]) == (400, "invalid_grant")


async def test_strangers_and_others_are_refused(ours: Channel) -> None:
    other = Channel(ours.sandbox, await ours.sandbox.account("youtube"))
    video = await other.video()
    assert (await ours.update("status", id=video, status={"privacyStatus": "public"})).status == 404
    ours.credentials["access_token"] = "guessed"
    assert (await ours.start()).json["error"]["errors"][0]["reason"] == "authError"
