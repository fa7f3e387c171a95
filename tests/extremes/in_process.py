"""Send extreme requests to the API of an app, without a network. Unexpected errors are raised."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from postino import Postino
from postino.cli.in_process import InProcessTransport
from postino.client.messages import ApiRequest


class Fields(dict[str, Any]):
    """The fields of a request, of which a failed test prints the beginnings."""

    def __repr__(self) -> str:
        return ", ".join(f"{name}: {value!r:.60}" for name, value in self.items())


class Api:
    def __init__(self, app: Postino) -> None:
        self.transport = InProcessTransport(app, "tester", None)  # type: ignore[arg-type]

    async def ask(self, method: str, path: str, body: Any = None, **query: str) -> tuple[int, Any]:
        """Send a request; a body of bytes is a CSV file. A value or a file that is refused is no error of the test."""
        is_file = isinstance(body, bytes)
        content = body if is_file or body is None else json.dumps(body).encode()
        content_type = "text/csv" if is_file else "application/json"
        request: ApiRequest[Any] = ApiRequest(method, path, query, content, content_type=content_type)
        response = await self.transport.call(request)
        assert response.status < 500, (method, path, response)
        return response.status, json.loads(response.body)

    async def get(self, path: str, **query: str) -> Any:
        status, answer = await self.ask("GET", path, **query)
        assert status == 200, (path, answer)
        return answer

    async def create(self, path: str, bodies: Sequence[Fields], required: Sequence[str] = ()) -> list[Any]:
        """Return what was created of these bodies; a refusal names a field that the body has, or that it needs."""
        created = []
        for body in bodies:
            status, answer = await self.ask("POST", path, body)
            assert status in (200, 201, 202, 400, 404, 409, 422), (body, answer)
            if status in (200, 201, 202):
                created.append(answer)
            elif status == 422:
                field = (answer.get("field") or "").partition(".")[0].partition("[")[0]
                assert field in body or field in required, (body, answer)
        return created

    async def list_all(self, path: str, **query: str) -> list[Any]:
        """Return the data of all pages."""
        data, cursor = [], dict[str, str]()
        while True:
            page = await self.get(path, **query, **cursor)
            data += page["data"]
            if page["next_cursor"] is None:
                return data
            cursor = {"cursor": page["next_cursor"]}


def quote_name(name: str) -> str:
    return quote(name, safe="")
