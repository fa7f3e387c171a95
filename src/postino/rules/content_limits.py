"""The limits of a network, with date and source, and the problems of a rendered post, for its author."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

from postino.rules.hashtags import find_tags
from postino.rules.media import MediaLimits, check_media
from postino.rules.rendering import RenderedPost
from postino.rules.text_length import LengthLimit, Measure
from postino.values.content import Problem, Severity

COUNTING_NOTES = {
    Measure.GRAPHEMES: "",
    Measure.CHARACTERS: "",
    Measure.UTF16: " (most emoji count as two)",
    Measure.BYTES: " (an accented letter counts as two, an emoji as four or more)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkLimits:
    """The limits of one network, when they were checked, and their source."""

    network: str
    network_title: str = ""
    checked: date
    source: str
    text: tuple[LengthLimit, ...]
    caption: tuple[LengthLimit, ...] = ()  # of a text with media, if different
    title: tuple[LengthLimit, ...] = ()  # empty: the network has no titles
    counted: tuple[str, ...] = ()  # options that count as part of the text
    threads: bool = False
    hashtags: int | None = None  # the maximum; None: unlimited
    media: MediaLimits = field(default_factory=MediaLimits)

    @property
    def name(self) -> str:
        return self.network_title or self.network


def check_limits(rendered: RenderedPost, limits: NetworkLimits) -> list[Problem]:
    """Return all problems of a rendered post, errors first. The network would refuse a post with an error."""
    where = rendered.source.field_path
    problems = [
        *rendered.problems,
        *_check_empty(rendered, limits),
        *_check_parts(rendered, limits),
        *_check_title(rendered, limits),
        *_check_hashtags(rendered, limits),
        *check_media(rendered.media, limits.media, limits.name, where("media")),
    ]
    return sorted(problems, key=lambda problem: problem.severity is not Severity.ERROR)


def _check_empty(rendered: RenderedPost, limits: NetworkLimits) -> Iterator[Problem]:
    where = rendered.source.field_path
    if not any(rendered.parts) and not rendered.media:
        yield Problem(Severity.ERROR, where("text"), f"The post for {limits.name} is empty. Write a text.")
        return
    if len(rendered.parts) > 1 and not rendered.parts[0] and not rendered.media:
        message = "The first part of the thread is empty. Write a text or remove it."
        yield Problem(Severity.ERROR, where("text"), message)
    for number, part in enumerate(rendered.parts[1:]):
        if not part:
            message = f"Part {number + 2} of the thread is empty. Write a text or remove it."
            yield Problem(Severity.ERROR, where(f"thread[{number}]"), message)


def _check_parts(rendered: RenderedPost, limits: NetworkLimits) -> Iterator[Problem]:
    where = rendered.source.field_path
    if len(rendered.parts) > 1 and not limits.threads:
        message = f"{limits.name} has no threads. Put everything into one text, or remove the other parts."
        yield Problem(Severity.ERROR, where("thread"), message)
    with_media = bool(limits.caption and rendered.media)
    counted = {name: str(rendered.options[name]) for name in limits.counted if rendered.options.get(name)}
    for number, part in enumerate(rendered.parts):
        is_caption = with_media and number == 0
        for length in limits.caption if is_caption else limits.text:
            if (count := length.count(part) + length.count("".join(counted.values()))) > length.most:
                field = "text" if number == 0 else f"thread[{number - 1}]"
                what = " with ".join(["The text" if number == 0 else f"Part {number + 1} of the thread", *counted])
                excess = _describe_excess(what, count, length, limits, is_caption)
                yield Problem(Severity.ERROR, where(field), f"{excess} {_suggest_shortening(limits, is_caption)}")


def _describe_excess(what: str, count: int, length: LengthLimit, limits: NetworkLimits, is_caption: bool) -> str:
    excess = count - length.most
    unit = ("byte" if length.measure is Measure.BYTES else "character") + ("s" if excess > 1 else "")
    under = " for a text with media" if is_caption else ""
    link = f" (every link counts as {length.link})" if length.link is not None else ""
    return (
        f"{what} is {excess:,} {unit} too long for {limits.name}: it has {count:,}, and the maximum is"
        f" {length.most:,}{under}{link}{COUNTING_NOTES[length.measure]}."
    )


def _suggest_shortening(limits: NetworkLimits, is_caption: bool) -> str:
    ways = ["Shorten it"]
    if is_caption and limits.text[0].most > limits.caption[0].most:
        ways.append(f"remove the media (then the maximum is {limits.text[0].most:,})")
    if limits.threads:
        ways.append("split it into a thread")
    ways.append(f"write another text for {limits.name}")
    return f"{', '.join(ways[:-1])} or {ways[-1]}."


def _check_title(rendered: RenderedPost, limits: NetworkLimits) -> Iterator[Problem]:
    if rendered.title is None:
        return
    field = rendered.source.field_path("title")
    if not limits.title:
        message = f"{limits.name} has no titles and drops yours. Put what everybody should read into the text."
        yield Problem(Severity.WARNING, field, message)
    for length in limits.title:
        if (count := length.count(rendered.title)) > length.most:
            excess = _describe_excess("The title", count, length, limits, is_caption=False)
            yield Problem(Severity.ERROR, field, f"{excess} Shorten it or write another title for {limits.name}.")


def _check_hashtags(rendered: RenderedPost, limits: NetworkLimits) -> Iterator[Problem]:
    count = len({tag.casefold() for part in rendered.parts for tag in find_tags(part)})
    if limits.hashtags is not None and count > limits.hashtags:
        excess = f"accepts {limits.hashtags} hashtags, and the post has {count}"
        message = f"{limits.name} {excess}. Remove {count - limits.hashtags}."
        yield Problem(Severity.ERROR, rendered.source.field_path("hashtags"), message)
