"""The feed: one page with everything in it, that loads nothing from anywhere else."""

import base64
import hashlib
from functools import cache
from pathlib import Path

from aiohttp import web

PARTS = Path(__file__).with_name("feed")


async def feed(request: web.Request) -> web.Response:
    html, policy = page()
    headers = {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
    return web.Response(text=html, content_type="text/html", headers=headers)


@cache
def page() -> tuple[str, str]:
    """The page, and the policy that lets exactly its own style and script run."""
    style, script = (part(name) for name in ("feed.css", "feed.js"))
    html = part("feed.html").replace("/*style*/", style).replace("/*script*/", script)
    policy = (
        f"default-src 'none'; style-src '{fingerprint(style)}'; script-src '{fingerprint(script)}'; img-src 'self';"
        " media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return html, policy


def part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")


def fingerprint(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
