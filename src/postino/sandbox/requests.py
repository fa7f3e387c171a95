"""From what came over the wire to a call one of the networks can understand."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import BodyPartReader, web
from multidict import MultiMapping

from postino.sandbox.network import Ask, Network, Refused
from postino.sandbox.network_state import File


@cache
def pattern_of(prefix: str, path: str) -> re.Pattern[str]:
    """`{name}` stands for one part of a path."""
    parts = re.split(r"\{(\w+)\}", path)
    escaped = [f"(?P<{part}>[^/]+)" if number % 2 else re.escape(part) for number, part in enumerate(parts)]
    return re.compile(prefix + "".join(escaped))


async def read(request: web.Request, network: Network, path: str) -> Ask:
    """Raises Refused, in the network's own words, if it cannot be understood."""
    found = [
        (endpoint, match.groupdict())
        for endpoint in network.endpoints
        if request.method in endpoint.methods and (match := pattern_of(network.prefix, endpoint.path).fullmatch(path))
    ]
    if not found:
        raise Refused(network.no_such_endpoint())
    params: dict[str, Any] = flat(request.query)
    files: dict[str, File] = {}
    body = b""
    if found[0][0].raw:
        body = await request.read()
    elif request.content_type.startswith("multipart/"):
        try:
            await read_multipart(request, params, files)
        except (ValueError, RuntimeError):
            raise Refused(network.bad_request("The form cannot be read")) from None
    else:
        body = await request.read()
        params |= parsed(request, body, network)
    for endpoint, names in found:
        ask = Ask(
            endpoint=endpoint, url=f"{request.scheme}://{request.host}/{network.name}", path=names, params=params,
            files=files, headers={name.lower(): readable(value) for name, value in request.headers.items()}, body=body,
        )  # fmt: skip
        if endpoint.when is None or endpoint.when(ask):
            return ask
    raise Refused(network.no_such_endpoint())


def readable(header: str) -> str:
    """Bytes that are no text come as half pairs of surrogates, which nobody could write down."""
    return header.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def parsed(request: web.Request, body: bytes, network: Network) -> dict[str, Any]:
    if not body:
        return {}
    if request.content_type == "application/x-www-form-urlencoded":
        return form(body)
    try:
        told = json.loads(body)
        json.dumps(told, ensure_ascii=False).encode()  # half a pair of surrogates is no text
    except (ValueError, RecursionError):
        raise Refused(network.bad_request("The body is not valid JSON")) from None
    if not isinstance(told, dict):
        raise Refused(network.bad_request("The body is not a JSON object"))
    return told


def form(body: bytes) -> dict[str, Any]:
    return merged(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def flat(query: MultiMapping[str]) -> dict[str, Any]:
    return merged((name, value) for name in dict.fromkeys(query) for value in query.getall(name))


def merged(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """`name[]` is a list, under its name without the brackets."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name.endswith("[]"):
            found.setdefault(name[:-2], []).append(value)
        else:
            found[name] = value
    return found


async def read_multipart(request: web.Request, params: dict[str, Any], files: dict[str, File]) -> None:
    texts: list[tuple[str, str]] = []
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):
            raise ValueError("a form within a form")
        name = part.name or ""
        data = bytes(await part.read(decode=True))
        if part.filename is None:
            texts.append((name, data.decode("utf-8", "replace")))
        else:
            files[name] = File(part.headers.get("Content-Type", "application/octet-stream"), data, part.filename)
    params |= merged(texts)


def unknown_parameters(ask: Ask) -> list[str]:
    files = () if ask.endpoint.attachments else ask.files
    return [name for name in (*ask.params, *files) if name not in ask.endpoint.takes]


def media_types(name: str) -> str:
    """By the end of an address, where that is all there is."""
    ends: Mapping[str, str] = {"png": "image/png", "gif": "image/gif", "webp": "image/webp", "mp4": "video/mp4",
                               "mov": "video/quicktime"}  # fmt: skip
    return ends.get(name.rpartition(".")[2].lower(), "image/jpeg")
