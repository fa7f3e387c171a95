"""The shapes of posts that each network can publish."""

from dataclasses import dataclass

from postino.providers.registry import load_built_in
from postino.values.content import Content, MediaRef
from postino.values.provider import PromiseClass

PICTURES = ("sample.png", "sample.jpg")


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of post on a network: its parts, its images, and the endpoint that makes it visible."""

    network: str
    name: str
    visible: str
    parts: int = 1
    pictures: int = 0

    def __str__(self) -> str:
        return f"{self.network} {self.name}"

    @property
    def grade(self) -> PromiseClass:
        return load_built_in().providers[self.network].promise.grade

    def texts(self, text: str) -> tuple[str, ...]:
        return (text, *(f"{text} ({part})" for part in range(2, self.parts + 1)))

    def content(self, text: str, sandbox_url: str) -> Content:
        body, *thread = self.texts(text)
        media = tuple(MediaRef(url=f"{sandbox_url}/_sandbox/media/{name}") for name in PICTURES[: self.pictures])
        return Content(body=body, thread=tuple(thread), media=media)


SHAPES = (
    Shape("bluesky", "plain", "putRecord"),
    Shape("bluesky", "thread", "putRecord", parts=2),
    Shape("bluesky", "picture", "putRecord", pictures=1),
    Shape("mastodon", "plain", "statuses"),
    Shape("mastodon", "thread", "statuses", parts=2),
    Shape("mastodon", "picture", "statuses", pictures=1),
    Shape("telegram", "plain", "sendMessage"),
    Shape("telegram", "picture", "sendPhoto", pictures=1),
    Shape("telegram", "pictures", "sendMediaGroup", pictures=2),
)
NETWORKS = tuple(load_built_in().providers)


def get_shape(network: str, name: str = "plain") -> Shape:
    return next(shape for shape in SHAPES if (shape.network, shape.name) == (network, name))


def list_shapes(network: str) -> list[Shape]:
    return [shape for shape in SHAPES if shape.network == network]
