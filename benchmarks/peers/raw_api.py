"""A limit without Postino: FastAPI, uvicorn and asyncpg write the request's body into one bare table.

It checks the same shape of a request, and knows neither accounts nor keys, neither limits nor a queue.
"""

import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import asyncpg
import uvicorn
import uvloop
from fastapi import FastAPI

from postino.api.models import PostBody

TABLE = "CREATE TABLE post (id uuid PRIMARY KEY, account text NOT NULL, body text NOT NULL)"
INSERT = "INSERT INTO post (id, account, body) VALUES ($1, $2, $3)"
CONNECTIONS = 4


def make_app(url: str) -> FastAPI:
    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        async with asyncpg.create_pool(url, min_size=CONNECTIONS, max_size=CONNECTIONS) as app.state.pool:
            await app.state.pool.execute(TABLE)
            yield

    app = FastAPI(lifespan=life)

    @app.post("/v1/posts", status_code=201)
    async def create(body: PostBody) -> dict[str, Any]:
        post_id = uuid4()
        await app.state.pool.execute(INSERT, post_id, body.accounts[0], body.model_dump_json())
        return {"id": str(post_id)}

    @app.get("/health/live")
    async def live() -> dict[str, str]:
        return {"status": "live"}

    return app


def main() -> None:
    opened = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(make_app(os.environ["BENCH_URL"]), log_config=None, access_log=False))
    print(json.dumps({"url": f"http://127.0.0.1:{opened.getsockname()[1]}"}), flush=True)
    uvloop.run(server.serve([opened]))


if __name__ == "__main__":
    main()
