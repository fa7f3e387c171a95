"""From what came over the wire to a call one of the networks can understand."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import BodyPartReader, web
from multidict import MultiMapping

from postino.sandbox.network import RequestRefused, SandboxCall, SandboxNetwork
from postino.sandbox.network_state import SandboxFile


@cache
def compile_path(prefix: str, path: str) -> re.Pattern[str]:
    """Return the pattern of a path, in which `{name}` stands for one segment."""
    parts = re.split(r"\{(\w+)\}", path)
    escaped = [f"(?P<{part}>[^/]+)" if number % 2 else re.escape(part) for number, part in enumerate(parts)]
    return re.compile(prefix + "".join(escaped))


async def read_call(request: web.Request, network: SandboxNetwork, path: str) -> SandboxCall:
    """Read a call. Raises RequestRefused, with the network's own error, if it cannot be parsed."""
    matches = [
        (endpoint, match.groupdict())
        for endpoint in network.endpoints
        if request.method in endpoint.methods and (match := compile_path(network.prefix, endpoint.path).fullmatch(path))
    ]
    if not matches:
        raise RequestRefused(network.reply_not_found())
    params: dict[str, Any] = flatten_query(request.query)
    files: dict[str, SandboxFile] = {}
    body = b""
    if matches[0][0].raw:
        body = await request.read()
    elif request.content_type.startswith("multipart/"):
        try:
            await read_multipart(request, params, files)
        except (ValueError, RuntimeError):
            raise RequestRefused(network.reply_bad_request("The form cannot be read")) from None
    else:
        body = await request.read()
        params |= parse_body(request, body, network)
    for endpoint, names in matches:
        call = SandboxCall(
            endpoint=endpoint, url=f"{request.scheme}://{request.host}/{network.name}", path=names, params=params,
            files=files, body=body,
            headers={name.lower(): decode_header(value) for name, value in request.headers.items()},
        )  # fmt: skip
        if endpoint.when is None or endpoint.when(call):
            return call
    raise RequestRefused(network.reply_not_found())


def decode_header(header: str) -> str:
    """Replace bytes that are not UTF-8; aiohttp passes them as lone surrogates, which cannot be stored."""
    return header.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def parse_body(request: web.Request, body: bytes, network: SandboxNetwork) -> dict[str, Any]:
    if not body:
        return {}
    if request.content_type == "application/x-www-form-urlencoded":
        return parse_form(body)
    try:
        content = json.loads(body)
        json.dumps(content, ensure_ascii=False).encode()  # raises for lone surrogates, which cannot be stored
    except (ValueError, RecursionError):
        raise RequestRefused(network.reply_bad_request("The body is not valid JSON")) from None
    if not isinstance(content, dict):
        raise RequestRefused(network.reply_bad_request("The body is not a JSON object"))
    return content


def parse_form(body: bytes) -> dict[str, Any]:
    return merge_pairs(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def flatten_query(query: MultiMapping[str]) -> dict[str, Any]:
    return merge_pairs((name, value) for name in dict.fromkeys(query) for value in query.getall(name))


def merge_pairs(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the pairs as a dict; `name[]` becomes a list under `name`."""
    params: dict[str, Any] = {}
    for name, value in pairs:
        if name.endswith("[]"):
            params.setdefault(name[:-2], []).append(value)
        else:
            params[name] = value
    return params


async def read_multipart(request: web.Request, params: dict[str, Any], files: dict[str, SandboxFile]) -> None:
    texts: list[tuple[str, str]] = []
    async for part in await request.multipart():
        if not isinstance(part, BodyPartReader):
            raise ValueError("a form within a form")
        name = part.name or ""
        data = bytes(await part.read(decode=True))
        if part.filename is None:
            texts.append((name, data.decode("utf-8", "replace")))
        else:
            files[name] = SandboxFile(part.headers.get("Content-Type", "application/octet-stream"), data, part.filename)
    params |= merge_pairs(texts)


def find_unknown_parameters(call: SandboxCall) -> list[str]:
    files = () if call.endpoint.attachments else call.files
    return [name for name in (*call.params, *files) if name not in call.endpoint.takes]


def guess_media_type(name: str) -> str:
    """Guess the media type by the extension of a URL."""
    ends: Mapping[str, str] = {"png": "image/png", "gif": "image/gif", "webp": "image/webp", "mp4": "video/mp4",
                               "mov": "video/quicktime"}  # fmt: skip
    return ends.get(name.rpartition(".")[2].lower(), "image/jpeg")
