"""Read what a network's file declares: its limits and its quotas, as typed values.

`limits` is a mapping:
  checked, source     when the limits were last looked up, and where
  text                list of lengths: {measure, most, link?, short_mentions?}
  caption, title      likewise: text with media, where its limit differs, and the title of a post
                      measure: graphemes (characters as people see them) | characters (code points) | utf16 | bytes
                      link: length that every link counts; short_mentions: @me@home.example counts as @me
  counted             options whose text counts as part of the text
  threads             whether a post may be a reply to the part before it
  hashtags            the largest number of hashtags
  media               {most, least?, mixed?, image?, video?}; mixed: images and videos in one post
                      image, video: {most, types, bytes?, alt?}; without `media` the network takes none

`quotas` is a list of {name, most, period | calendar and timezone, whose, costs, checked, source}:
  period              a rolling window {days?, hours?, minutes?, seconds?}. Networks that count in fixed windows get a
                      rolling one of the same length: it never allows more than they do.
  calendar, timezone  a fixed window: hour | day | month, by the clocks of the time zone
  whose               account | channel (all accounts of the network together, because they share one app)
  costs               cost by step name, without the step's number
  checked, source     as in the limits
A network that publishes no figures declares none; its 429 responses are obeyed all the same.
"""

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Any

from postino.rules.content_limits import NetworkLimits
from postino.rules.media import MediaKindLimits, MediaLimits
from postino.rules.quota import CalendarPeriod, Quota
from postino.rules.text_length import LengthLimit, Measure
from postino.values.content import MediaKind
from postino.values.gate import Scope


def parse_limits(
    network: str, network_title: str, *, media: Mapping[str, Any] | None = None, **fields: Any
) -> NetworkLimits:
    """Return the limits a network declares. An unknown key is an error: a misspelt limit would not be kept."""
    for name in {"text", "caption", "title"} & fields.keys():
        fields[name] = tuple(_parse_length(**length) for length in fields[name])
    return NetworkLimits(
        network=network,
        network_title=network_title,
        media=_parse_media(**media or {}),
        counted=tuple(fields.pop("counted", ())),
        **fields,
    )


def parse_quotas(declared: Iterable[Mapping[str, Any]]) -> tuple[Quota, ...]:
    """Return the quotas a network declares. An unknown key is an error: a misspelt quota would not be kept."""
    quotas = tuple(_parse_quota(**quota) for quota in declared)
    if len({quota.name for quota in quotas}) < len(quotas):
        raise ValueError("two quotas have the same name")
    return quotas


def _parse_media(**fields: Any) -> MediaLimits:
    kinds = {kind: _parse_kind(**fields.pop(kind)) for kind in MediaKind if kind in fields}
    return MediaLimits(kinds=kinds, **fields)


def _parse_kind(*, types: list[str], alt: Mapping[str, Any] | None = None, **fields: Any) -> MediaKindLimits:
    return MediaKindLimits(types=tuple(types), alt=None if alt is None else _parse_length(**alt), **fields)


def _parse_length(*, measure: str, **fields: Any) -> LengthLimit:
    return LengthLimit(measure=Measure(measure), **fields)


def _parse_quota(
    *,
    most: int,
    whose: str,
    costs: Mapping[str, int],
    period: Mapping[str, int] | None = None,
    calendar: str | None = None,
    checked: date,
    source: str,
    **fields: Any,
) -> Quota:
    name = fields.get("name")
    for number in (most, *costs.values()):
        if type(number) is not int:
            raise ValueError(f"{name}: quotas are whole numbers, not {number!r}")
    if type(checked) is not date or not source:
        raise ValueError(f"{name}: a quota needs the date it was checked and a source, not {checked!r} and {source!r}")
    return Quota(
        most=most,
        whose=Scope(whose),
        costs=dict(costs),
        period=None if period is None else timedelta(**period),
        calendar=None if calendar is None else CalendarPeriod(calendar),
        **fields,
    )
