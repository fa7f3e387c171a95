"""What the networks are made of: forms, files, and texts that come back changed."""

from __future__ import annotations

from email.parser import BytesParser
from email.policy import HTTP

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postino.providers.media_download import File, Shelf, type_of
from postino.providers.multipart import multipart
from postino.providers.text_match import same_as_page, same_text
from postino.providers.urls import endpoint, page
from tests.providers.samples import FILM, png


@given(st.dictionaries(st.from_regex(r"[a-z_]+", fullmatch=True), st.text()), st.binary())
def test_a_form_is_read_as_it_was_written(fields: dict[str, str], data: bytes) -> None:
    headers, body = multipart(fields, {"a file": File(data, "image/jpeg")})
    assert headers["Content-Type"].partition("boundary=")[2].encode() not in data
    read = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode() + body)
    *texts, file = read.iter_parts()
    told = {str(part.get_param("name", header="Content-Disposition")): part.get_payload(decode=True) for part in texts}
    assert set(told) == set(fields)
    assert (file.get_filename(), file.get_content_type()) == ("media.jpg", "image/jpeg")
    for value in [*(text.encode() for text in fields.values()), data]:
        assert b"\r\n\r\n" + value + b"\r\n--" in body


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (png(), "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (FILM, "video/mp4"),
        (b"\0\0\0\x14ftypqt  ", "video/quicktime"),
        (b"\0\0\0\x18ftypheic", "image/heic"),
        (b"\0\0\0\x1cftypavif", "image/avif"),
        (b"<html>", None),
        (b"", None),
    ],
)
def test_files_are_known_by_how_they_begin(data: bytes, kind: str | None) -> None:
    assert type_of(data) == kind


def test_the_shelf_makes_room_for_what_is_sent_next() -> None:
    shelf = Shelf(10)
    for number in range(4):
        shelf.put(str(number), File(b"x" * 4, "image/png"))
    assert [shelf.get(str(number)) is not None for number in range(4)] == [False, False, True, True]
    shelf.put("large", File(b"x" * 20, "image/png"))
    assert shelf.get("large") is not None
    assert shelf.get("3") is None
    shelf.drop("large")
    assert shelf.get("large") is None


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
        ("", ""),
    ],
)
def test_a_text_is_known_again_on_a_page(text: str, came_back: str) -> None:
    assert same_as_page(text, came_back)
    assert not same_as_page(f"{text} not", came_back)


def test_only_blanks_and_forms_of_letters_do_not_matter() -> None:
    assert same_text("ü  and\r\nu\n", " u\u0308 and u")
    assert not same_text("Hello", "hello")


@pytest.mark.parametrize(
    ("base_url", "shown"),
    [
        ("https://bsky.social", "https://public.test/1"),
        ("http://127.0.0.1:8701/bluesky", "http://127.0.0.1:8701/"),
        ("http://localhost:8701/bluesky/", "http://localhost:8701/"),
    ],
)
def test_what_a_simulated_network_published_is_shown_where_it_is(base_url: str, shown: str) -> None:
    assert page(base_url, "https://public.test/1") == shown
    assert endpoint(base_url, "/xrpc/a") == f"{base_url.rstrip('/')}/xrpc/a"
