"""Clients for tests: programs with an API key, and browsers with a session."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from tests.api.processes import Client, Reply, Server

PASSWORD = "correct horse"


def with_key(server: Server, role: str, **fields: Any) -> Client:
    """A client with its own API key."""
    made = server.api.ask("POST", "/v1/api-keys", {"name": f"{role} {uuid4()}", "role": role, **fields})
    assert made.status == 201, made
    return Client(server.api.url, {"Authorization": f"Bearer {made.json['key']}"})


def add_user(server: Server, name: str, role: str = "editor", **fields: Any) -> str:
    """Their id."""
    made = server.api.ask("POST", "/v1/users", {"name": name, "role": role, "password": PASSWORD, **fields})
    assert made.status == 201, made
    return str(made.json["id"])


def log_in(server: Server, name: str, password: str = PASSWORD, **headers: str) -> Reply:
    return Client(server.api.url).ask("POST", "/v1/login", {"name": name, "password": password}, **headers)


def get_cookie(reply: Reply) -> str:
    return reply.headers["set-cookie"].partition(";")[0]


def browser(server: Server, reply: Reply, *, token: bool = True) -> Client:
    """Return a client with the session of this response; without its token it only has the cookie."""
    headers = {"X-CSRF-Token": reply.json["csrf_token"]} if token else {}
    return Client(server.api.url, {"Cookie": get_cookie(reply), **headers})
