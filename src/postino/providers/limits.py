"""Reads limits.toml, which says what each network takes and when that was last looked up."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from postino.rules.limits import Limits
from postino.rules.media import KindLimits, MediaLimits
from postino.rules.text_length import Length, Measure
from postino.values.content import MediaKind


@cache
def load_limits() -> Mapping[str, Limits]:
    """Every network's, as delivered with this version."""
    return parse_limits((files("postino.providers") / "limits.toml").read_text())


def parse_limits(text: str) -> dict[str, Limits]:
    """A key nobody knows is an error: a limit that is misspelt would not be kept."""
    return {network: limits_of(network, **table) for network, table in tomllib.loads(text).items()}


def limits_of(network: str, *, media: Mapping[str, Any] | None = None, **told: Any) -> Limits:
    for name in {"text", "caption", "title"} & told.keys():
        told[name] = tuple(_length(**length) for length in told[name])
    return Limits(network=network, media=_media(**media or {}), counted=tuple(told.pop("counted", ())), **told)


def _media(**told: Any) -> MediaLimits:
    kinds = {kind: _kind(**told.pop(kind)) for kind in MediaKind if kind in told}
    return MediaLimits(kinds=kinds, **told)


def _kind(*, types: list[str], alt: Mapping[str, Any] | None = None, **told: Any) -> KindLimits:
    return KindLimits(types=tuple(types), alt=None if alt is None else _length(**alt), **told)


def _length(*, measure: str, **told: Any) -> Length:
    return Length(measure=Measure(measure), **told)
