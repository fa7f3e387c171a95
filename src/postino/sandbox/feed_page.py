"""The feed page: a single HTML page that loads nothing from other servers."""

import base64
import hashlib
from functools import cache
from pathlib import Path

from aiohttp import web

PARTS = Path(__file__).with_name("feed")


async def serve_feed(request: web.Request) -> web.Response:
    html, policy = build_page()
    headers = {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
    return web.Response(text=html, content_type="text/html", headers=headers)


@cache
def build_page() -> tuple[str, str]:
    """Return the page and the Content-Security-Policy that allows exactly its own style and script."""
    style, script = (read_part(name) for name in ("feed.css", "feed.js"))
    html = read_part("feed.html").replace("/*style*/", style).replace("/*script*/", script)
    policy = (
        f"default-src 'none'; style-src '{hash_source(style)}'; script-src '{hash_source(script)}'; img-src 'self';"
        " media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return html, policy


def read_part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")


def hash_source(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
