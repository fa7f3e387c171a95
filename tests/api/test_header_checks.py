"""What HeaderChecks passes on."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from postino.api.header_checks import keep_session_cookie
from tests.growth.attacks import repeat
from tests.growth.measure import find_superlinear

PUMPS = ("\\", "\\1", '"', ";", "; ", "=", "a=1;", "__Host-postino=", "__Host-postino=1;", '__Host-postino="\\1";')


def pass_cookies(*texts: str) -> list[str]:
    headers = [(b"host", b"test"), *((b"cookie", text.encode()) for text in texts)]
    scope: dict[str, Any] = {"type": "http", "headers": headers}
    return [text.decode() for name, text in keep_session_cookie(scope)["headers"] if name == b"cookie"]


@pytest.mark.parametrize(
    ("texts", "kept"),
    [
        ([], []),
        (["a=1; b=2"], []),
        (["a=1; __Host-postino=k; b=2"], ["__Host-postino=k"]),
        (["a=1", "__Host-postino=k"], ["__Host-postino=k"]),
        (["__Host-postino=k;__Host-postino=l"], ["__Host-postino=l"]),
        (["x__Host-postino=k"], []),
        ([f"__Host-postino={'k' * 200}"], []),
    ],
)
def test_only_the_session_cookie_is_passed_on(texts: list[str], kept: list[str]) -> None:
    assert pass_cookies(*texts) == kept


def test_cookies_take_linear_time() -> None:
    starts = ("", "a=", 'a="', "__Host-postino=", '__Host-postino="')
    attacks = [partial(repeat, start, pump, end) for start in starts for pump in PUMPS for end in ("", '"')]
    assert find_superlinear(pass_cookies, attacks) is None
