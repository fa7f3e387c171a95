"""Multipart forms, media files and text comparison."""

from __future__ import annotations

from email.parser import BytesParser
from email.policy import HTTP

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.providers.media_download import MediaCache, MediaFile, detect_type
from postino.providers.multipart import encode_multipart
from postino.providers.text_match import MAX_PAGE, is_same_as_html, is_same_text
from postino.providers.urls import build_page_url, join_url
from tests.providers.samples import SAMPLE_VIDEO, make_png


@given(st.dictionaries(st.from_regex(r"[a-z_]+", fullmatch=True), st.text()), st.binary())
def test_multipart_form_round_trips(fields: dict[str, str], data: bytes) -> None:
    headers, parts = encode_multipart(fields, {"a file": MediaFile(data, "image/jpeg")})
    assert any(part is data for part in parts), "a file is not copied"
    body = b"".join(parts)
    assert headers["Content-Type"].partition("boundary=")[2].encode() not in data
    read = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode() + body)
    *texts, file = read.iter_parts()
    parsed = {
        str(part.get_param("name", header="Content-Disposition")): part.get_payload(decode=True) for part in texts
    }
    assert set(parsed) == set(fields)
    assert (file.get_filename(), file.get_content_type()) == ("media.jpg", "image/jpeg")
    for value in [*(text.encode() for text in fields.values()), data]:
        assert b"\r\n\r\n" + value + b"\r\n--" in body


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (make_png(), "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (SAMPLE_VIDEO, "video/mp4"),
        (b"\0\0\0\x14ftypqt  ", "video/quicktime"),
        (b"\0\0\0\x18ftypheic", "image/heic"),
        (b"\0\0\0\x1cftypavif", "image/avif"),
        (b"<html>", None),
        (b"", None),
    ],
)
def test_media_type_is_detected_by_signature(data: bytes, kind: str | None) -> None:
    assert detect_type(data) == kind


def test_media_cache_drops_the_oldest_files() -> None:
    cache = MediaCache(10)
    for number in range(4):
        cache.put(str(number), MediaFile(b"x" * 4, "image/png"))
    assert [cache.get(str(number)) is not None for number in range(4)] == [False, False, True, True]
    cache.put("large", MediaFile(b"x" * 20, "image/png"))
    assert cache.get("large") is not None
    assert cache.get("3") is None
    cache.drop("large")
    assert cache.get("large") is None


LINK = (
    '<a href="https://example.com/a/b?c=1&amp;d=2"><span class="invisible">https://</span>'
    '<span class="ellipsis">example.com/a</span><span class="invisible">/b?c=1&amp;d=2</span></a>'
)
MENTION = '<span class="h-card"><a href="https://example.com/@friend">@<span>friend</span></a></span>'
TAG = '<a href="https://here/tags/tag">#<span>Tag</span></a>'


@pytest.mark.parametrize(
    ("text", "came_back"),
    [
        ("Hello", "<p>Hello</p>"),
        ("a & b <3", "<p>a &amp; b &lt;3</p>"),
        ("one\ntwo\n\nthree", "<p>one<br />two</p><p>three</p>"),
        ("see https://example.com/a/b?c=1&d=2", f"<p>see {LINK}</p>"),
        ("hi @friend@example.com #Tag", f"<p>hi {MENTION} {TAG}</p>"),
        ("1 < 2", "<p>1 &lt; 2</p>"),
        ("1 < 2", "<p></p>1 < 2"),
        ("", ""),
    ],
)
def test_text_matches_its_html(text: str, came_back: str) -> None:
    assert is_same_as_html(text, came_back)
    assert not is_same_as_html(f"{text} not", came_back)


def test_unreadable_html_matches_no_text() -> None:
    assert not is_same_as_html("a", f"<p>a</p>&#{'1' * 5000};")
    assert not is_same_as_html("a", f"<p>a</p>{' ' * MAX_PAGE}")


def test_text_match_ignores_only_white_space_and_normalisation() -> None:
    assert is_same_text("ü  and\r\nu\n", " u\u0308 and u")
    assert not is_same_text("Hello", "hello")


@pytest.mark.parametrize(
    ("base_url", "shown"),
    [
        ("https://bsky.social", "https://public.test/1"),
        ("http://127.0.0.1:8701/bluesky", "http://127.0.0.1:8701/"),
        ("http://localhost:8701/bluesky/", "http://localhost:8701/"),
    ],
)
def test_sandbox_post_links_to_the_sandbox_feed(base_url: str, shown: str) -> None:
    assert build_page_url(base_url, "https://public.test/1") == shown
    assert join_url(base_url, "/xrpc/a") == f"{base_url.rstrip('/')}/xrpc/a"
