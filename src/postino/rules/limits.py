"""What a network takes, as dated values, and what is wrong with a finished post on it, in words for who wrote it."""

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
    """What one network takes, when that was last looked up, and where."""

    network: str
    network_title: str = ""
    checked: date
    source: str
    text: tuple[LengthLimit, ...]
    caption: tuple[LengthLimit, ...] = ()  # of a text with media, where that differs
    title: tuple[LengthLimit, ...] = ()  # none: the network has no titles
    counted: tuple[str, ...] = ()  # options that count as part of the text
    threads: bool = False
    hashtags: int | None = None  # at most so many; None: no matter
    media: MediaLimits = field(default_factory=MediaLimits)

    @property
    def name(self) -> str:
        return self.network_title or self.network


def check_limits(rendered: RenderedPost, limits: NetworkLimits) -> list[Problem]:
    """Everything that speaks against it, errors first; with an error the network would refuse it."""
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
        yield Problem(Severity.ERROR, where("text"), f"There is nothing to publish on {limits.name}: write a text.")
        return
    if len(rendered.parts) > 1 and not rendered.parts[0] and not rendered.media:
        message = "The thread begins with an empty part: write a text, or leave it out."
        yield Problem(Severity.ERROR, where("text"), message)
    for number, part in enumerate(rendered.parts[1:]):
        if not part:
            message = f"Part {number + 2} of the thread is empty: write a text, or leave it out."
            yield Problem(Severity.ERROR, where(f"thread[{number}]"), message)


def _check_parts(rendered: RenderedPost, limits: NetworkLimits) -> Iterator[Problem]:
    where = rendered.source.field_path
    if len(rendered.parts) > 1 and not limits.threads:
        message = f"{limits.name} has no threads: put it all into one text there, or leave the further parts out."
        yield Problem(Severity.ERROR, where("thread"), message)
    with_media = bool(limits.caption and rendered.media)
    counted = {name: str(rendered.options[name]) for name in limits.counted if rendered.options.get(name)}
    for number, part in enumerate(rendered.parts):
        is_caption = with_media and number == 0
        for length in limits.caption if is_caption else limits.text:
            if (count := length.count(part) + length.count("".join(counted.values()))) > length.most:
                field = "text" if number == 0 else f"thread[{number - 1}]"
                what = " with ".join(["The text" if number == 0 else f"Part {number + 1} of the thread", *counted])
                said = _describe_excess(what, count, length, limits, is_caption)
                yield Problem(Severity.ERROR, where(field), f"{said} {_suggest_shortening(limits, is_caption)}")


def _describe_excess(what: str, count: int, length: LengthLimit, limits: NetworkLimits, is_caption: bool) -> str:
    excess = count - length.most
    unit = ("byte" if length.measure is Measure.BYTES else "character") + ("s" if excess > 1 else "")
    under = " under a picture or video" if is_caption else ""
    link = f" (every link counts as {length.link})" if length.link is not None else ""
    return (
        f"{what} is {excess:,} {unit} too long for {limits.name}: it has {count:,}, and {length.most:,} are the"
        f" most{under}{link}{COUNTING_NOTES[length.measure]}."
    )


def _suggest_shortening(limits: NetworkLimits, is_caption: bool) -> str:
    ways = ["Shorten it"]
    if is_caption and limits.text[0].most > limits.caption[0].most:
        ways.append(f"leave out the attachments ({limits.text[0].most:,} fit without)")
    if limits.threads:
        ways.append("split it into a thread")
    ways.append(f"write another one for {limits.name} alone")
    return f"{', '.join(ways[:-1])} or {ways[-1]}."


def _check_title(rendered: RenderedPost, limits: NetworkLimits) -> Iterator[Problem]:
    if rendered.title is None:
        return
    field = rendered.source.field_path("title")
    if not limits.title:
        message = f"{limits.name} shows no titles: yours is left out there. What all should read belongs into the text."
        yield Problem(Severity.WARNING, field, message)
    for length in limits.title:
        if (count := length.count(rendered.title)) > length.most:
            said = _describe_excess("The title", count, length, limits, is_caption=False)
            yield Problem(Severity.ERROR, field, f"{said} Shorten it or write another one for {limits.name} alone.")


def _check_hashtags(rendered: RenderedPost, limits: NetworkLimits) -> Iterator[Problem]:
    count = len({tag.casefold() for part in rendered.parts for tag in find_tags(part)})
    if limits.hashtags is not None and count > limits.hashtags:
        excess = f"takes {limits.hashtags} hashtags, and there are {count}"
        message = f"{limits.name} {excess}: leave out {count - limits.hashtags} of them there."
        yield Problem(Severity.ERROR, rendered.source.field_path("hashtags"), message)
