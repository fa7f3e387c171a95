"""Base URLs have one form, so that no two programs can read one differently."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from postino.errors import WrongUse
from postino.values.base_url import normalize_base_url, normalize_origin

GOOD = [
    ("https://social.example", "https://social.example"),
    ("https://social.example/", "https://social.example"),
    ("https://Social.EXAMPLE:443/Blog/", "https://social.example/Blog"),
    ("http://10.0.0.7:8080/api/v1", "http://10.0.0.7:8080/api/v1"),
    ("http://social.example:80", "http://social.example"),
    ("https://[2606:2800:220::1]:8443/~ada/my.site_2-x", "https://[2606:2800:220::1]:8443/~ada/my.site_2-x"),
    ("https://xn--mnchen-3ya.example", "https://xn--mnchen-3ya.example"),
    ("sandbox:/mastodon", "sandbox:/mastodon"),
]
BAD = [
    "", " ", "https://", "https:///x", "social.example", "//social.example", "/x", "https:/social.example",
    "https:social.example", "HTTPS://social.example", "ftp://social.example", "file:///etc/passwd", "data:,x",
    "javascript:1", "https://user@social.example", "https://user:pass@social.example", "https://@social.example",
    "https://social.example@evil.example", "https://social.example#", "https://social.example/#x",
    "https://social.example?", "https://social.example/?x=1", "https://social.example/.", "https://social.example/..",
    "https://social.example/a/../b", "https://social.example/./b", "https://social.example/%2e%2e/b",
    "https://social.example/%2F", "https://social.example//x", "https://social.example/x//", "https://social.example\\",
    "https://social.example\\@evil.example", "https:\\\\social.example", "https://social.example/a\\..\\b",
    " https://social.example", "https://social.example ", "https://social.example\n", "https://social.example/\r\nX: y",
    "https://social.example\t", "https://social.example\0", "https://social.example/\x7f", "https://soc ial.example",
    "https://social.example:", "https://social.example:0", "https://social.example:65536", "https://social.example:8a",
    "https://social.example:443:443", "https://social.example.", "https://.social.example", "https://a..b",
    "https://münchen.example", "https://social.example/ü", "https://１２７.0.0.1", "https://social。example",
    "https://[::1", "https://::1", "https://[fe80::1%25eth0]", "https://[fe80::1%eth0]", "https://a]b",
    "https://social.example/;x=1", "https://social.example/a:b", "https://social.example/_sandbox/faults",
    "https://social.example/" + "x" * 500, "sandbox:", "sandbox:/", "sandbox://mastodon", "sandbox:mastodon",
    "sandbox:/bluesky", "sandbox:/mastodon/", "sandbox:/mastodon#", "sandbox:/mastodon?", "sandbox:/mastodon/..",
    "sandbox:/_sandbox/reset#", "sandbox:/_sandbox", "sandbox:/mastodon/../_sandbox/reset", "sandbox:@127.0.0.1:22/",
    "sandbox:.evil.example/", "sandbox:22/", "SANDBOX:/mastodon", "sandbox:/mastodon\n", "sandbox:/%6dastodon",
]  # fmt: skip


@pytest.mark.parametrize(("text", "normal"), GOOD)
def test_base_url_has_one_form(text: str, normal: str) -> None:
    assert normalize_base_url(text, "mastodon") == normal
    assert normalize_base_url(normal, "mastodon") == normal


@pytest.mark.parametrize("text", BAD)
def test_unusual_base_url_is_refused(text: str) -> None:
    with pytest.raises(WrongUse) as raised:
        normalize_base_url(text, "mastodon")
    assert raised.value.field == "base_url"
    assert "pass@" not in str(raised.value)


@given(st.text(alphabet="htps:/.@#?%\\[]x1-\n é", max_size=30) | st.text(max_size=30))
def test_accepted_base_url_means_the_same_to_every_parser(rest: str) -> None:
    for text in (rest, f"https://{rest}", f"https://a.example{rest}", f"https://a.example/{rest}"):
        try:
            normal = normalize_base_url(text, "mastodon")
        except WrongUse:
            continue
        parts = urlsplit(normal)
        assert (parts.username, parts.password, parts.query, parts.fragment) == (None, None, "", "")
        assert re.fullmatch(r"[!-~]+", normal)
        if not normal.partition("://")[2].startswith("["):
            assert str(URL(f"{normal}/api/v1/statuses")) == f"{normal}/api/v1/statuses"
            assert URL(normal).raw_host == parts.hostname


@pytest.mark.parametrize("text", ["http://a/", "http://a/b", "http://a?", "http://u@a", "http://*", "https://a:99999"])
def test_origin_is_only_scheme_host_and_port(text: str) -> None:
    assert normalize_origin(text) is None
