"""Every field of the API that takes a URL refuses URLs of this machine and of private networks.

Names are accepted here: what they lead to is checked when Postino connects, see `tests/outbound/test_ssrf_corpus.py`.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.processes import Client, Reply, Server
from tests.outbound.test_ssrf_corpus import CORPUS

ACCOUNT = {
    "network": "mastodon", "handle": "ada@social.example", "base_url": "https://social.example",
    "credentials": {"access_token": "t" * 20},
}  # fmt: skip
LATER = "2040-01-01T00:00:00Z"
FULL_NAME = re.compile(r"https?://[a-z0-9ß_.ü-]*[a-z]\.?(:\d+)?([/#?].*)?", re.IGNORECASE)
LOCAL_NAME = re.compile(r"https?://([^/:]*\.)?(localhost|local|internal|localdomain)\.?([:/].*)?", re.IGNORECASE)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with Server(tmp_path_factory.mktemp("ssrf") / "data", POSTINO_API_RATE="0") as server:
        assert server.api.ask("POST", "/v1/accounts", ACCOUNT).status == 201
        yield server.api


@pytest.fixture
def canary() -> Iterator[int]:
    """Return a port at which nobody must knock."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()


def list_urls(port: int) -> list[str]:
    return [template.replace("{port}", str(port)) for entry in CORPUS for template in entry["urls"]]


def list_examples(port: int) -> list[str]:
    """Return one URL of each technique."""
    return [entry["urls"][0].replace("{port}", str(port)) for entry in CORPUS]


def is_full_name(url: str) -> bool:
    return FULL_NAME.fullmatch(url) is not None and LOCAL_NAME.fullmatch(url) is None


def in_post(url: str) -> dict[str, Any]:
    return {"text": "x", "accounts": ["mastodon:ada@social.example"], "media": [{"url": url}], "at": LATER}


def in_override(url: str) -> dict[str, Any]:
    plain = {name: value for name, value in in_post(url).items() if name != "media"}
    return plain | {"overrides": {"mastodon": {"media": [{"url": url}]}}}


def create_post(client: Client, url: str) -> Reply:
    return client.ask("POST", "/v1/posts", in_post(url))


def override_post(client: Client, url: str) -> Reply:
    return client.ask("POST", "/v1/posts", in_override(url))


def edit_post(client: Client, url: str) -> Reply:
    post = client.ask("POST", "/v1/posts", {**in_post(url), "media": []}).json
    return client.ask("PATCH", f"/v1/posts/{post['id']}", {"media": [{"url": url}]})


def override_in_edit(client: Client, url: str) -> Reply:
    post = client.ask("POST", "/v1/posts", {**in_post(url), "media": []}).json
    return client.ask("PATCH", f"/v1/posts/{post['id']}", {"overrides": {"mastodon": {"media": [{"url": url}]}}})


def validate_post(client: Client, url: str) -> Reply:
    return refuse_invalid(client.ask("POST", "/v1/posts/validate", in_post(url)))


def validate_override(client: Client, url: str) -> Reply:
    return refuse_invalid(client.ask("POST", "/v1/posts/validate", in_override(url)))


def refuse_invalid(reply: Reply) -> Reply:
    """Return a validation that found errors as a refusal."""
    is_refused = reply.status == 200 and "cannot be fetched" in reply.body.decode()
    return Reply(422, reply.headers, reply.body) if is_refused else reply


def publish_draft(client: Client, url: str) -> Reply:
    made = client.ask("POST", "/v1/drafts", in_post(url))
    return client.ask("POST", f"/v1/drafts/{made.json['id']}/schedule") if made.status == 201 else made


def publish_override_of_draft(client: Client, url: str) -> Reply:
    made = client.ask("POST", "/v1/drafts", in_override(url))
    return client.ask("POST", f"/v1/drafts/{made.json['id']}/schedule") if made.status == 201 else made


def publish_edited_draft(client: Client, url: str) -> Reply:
    made = client.ask("POST", "/v1/drafts", {**in_post(url), "media": []}).json
    changed = client.ask("PATCH", f"/v1/drafts/{made['id']}", {"media": [{"url": url}]})
    return client.ask("POST", f"/v1/drafts/{made['id']}/schedule") if changed.status == 200 else changed


def publish_edited_override(client: Client, url: str) -> Reply:
    made = client.ask("POST", "/v1/drafts", {**in_post(url), "media": []}).json
    overrides = {"overrides": {"mastodon": {"media": [{"url": url}]}}}
    changed = client.ask("PATCH", f"/v1/drafts/{made['id']}", overrides)
    return client.ask("POST", f"/v1/drafts/{made['id']}/schedule") if changed.status == 200 else changed


def create_account(client: Client, url: str) -> Reply:
    return client.ask("POST", "/v1/accounts", ACCOUNT | {"handle": f"h{abs(hash(url))}", "base_url": url})


def reconnect_account(client: Client, url: str) -> Reply:
    body = {"credentials": ACCOUNT["credentials"], "base_url": url}
    return client.ask("POST", "/v1/accounts/mastodon:ada@social.example/reconnect", body)


FIELDS: dict[tuple[str, str, str], Callable[[Client, str], Reply]] = {
    ("POST", "/v1/accounts", "base_url"): create_account,
    ("POST", "/v1/accounts/{account_id}/reconnect", "base_url"): reconnect_account,
    ("POST", "/v1/drafts", "media.url"): publish_draft,
    ("POST", "/v1/drafts", "overrides.media.url"): publish_override_of_draft,
    ("PATCH", "/v1/drafts/{draft_id}", "media.url"): publish_edited_draft,
    ("PATCH", "/v1/drafts/{draft_id}", "overrides.media.url"): publish_edited_override,
    ("POST", "/v1/posts", "media.url"): create_post,
    ("POST", "/v1/posts", "overrides.media.url"): override_post,
    ("POST", "/v1/posts/validate", "media.url"): validate_post,
    ("POST", "/v1/posts/validate", "overrides.media.url"): validate_override,
    ("PATCH", "/v1/posts/{post_id}", "media.url"): edit_post,
    ("PATCH", "/v1/posts/{post_id}", "overrides.media.url"): override_in_edit,
}


@pytest.mark.parametrize("field", FIELDS, ids=" ".join)
def test_field_refuses_every_technique(client: Client, canary: int, field: tuple[str, str, str]) -> None:
    for url in list_examples(canary):
        reply = FIELDS[field](client, url)
        assert reply.status in (400, 413, 422) or (reply.status in (200, 201) and is_full_name(url)), (url, reply)


@pytest.mark.parametrize("act", [create_post, reconnect_account])
def test_field_refuses_every_url(client: Client, canary: int, act: Callable[[Client, str], Reply]) -> None:
    for url in list_urls(canary):
        reply = act(client, url)
        assert reply.status in (400, 413, 422) or (reply.status in (200, 201) and is_full_name(url)), (url, reply)


def test_import_refuses_every_url(client: Client, canary: int) -> None:
    urls = [url for url in list_urls(canary) if re.fullmatch(r"https?://[^\x00-\x20,;\"\ud800-\udfff]+", url)]
    lines = [f"x,mastodon:ada@social.example,{LATER},{url}" for url in urls]
    for start in range(0, len(lines), 100):
        file = "\n".join(["text,accounts,at,media", *lines[start : start + 100]]).encode()
        result = client.ask("POST", "/v1/imports", file, Content_Type="text/csv").json
        refused = {problem["line"] for problem in result["problems"]}
        for number, url in enumerate(urls[start : start + 100], 2):
            assert number in refused or is_full_name(url), (url, result["problems"][:3])


def test_every_field_that_takes_a_url_is_tested() -> None:
    document = json.loads((Path(__file__).parents[2] / "openapi.json").read_text())
    assert set(list_url_fields(document)) == set(FIELDS)


def list_url_fields(document: Any) -> Iterator[tuple[str, str, str]]:
    schemas = document["components"]["schemas"]

    def walk(schema: Any, path: tuple[str, ...], parents: frozenset[str]) -> Iterator[str]:
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name in parents:
                return
            schema, parents = schemas[name], parents | {name}
        inner = [part for name in ("anyOf", "oneOf", "allOf") for part in schema.get(name, ())]
        inner += [schema[name] for name in ("items", "additionalProperties") if isinstance(schema.get(name), dict)]
        for part in inner:
            yield from walk(part, path, parents)
        for name, part in schema.get("properties", {}).items():
            if re.search("url|uri|link|endpoint|webhook", name, re.IGNORECASE):
                yield ".".join([*path, name])
            yield from walk(part, (*path, name), parents)

    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if isinstance(operation, dict):
                for content in operation.get("requestBody", {}).get("content", {}).values():
                    for field in walk(content.get("schema", {}), (), frozenset()):
                        yield method.upper(), path, field
