"""A sign of life for eyes: one page that loads nothing from elsewhere and tells nothing without the key."""

import base64
import hashlib
import html
from functools import cache
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from postino.wiring import Postino

PARTS = Path(__file__).with_name("sign_of_life")


def routes(app: Postino) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def sign_of_life() -> HTMLResponse:
        text, policy = page(app.config.sandbox.url)
        headers = {
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }
        return HTMLResponse(text, headers=headers)

    return router


@cache
def page(sandbox_url: str) -> tuple[str, str]:
    """The page, and the policy that lets exactly its own style and script run."""
    style, script = (part(name) for name in ("page.css", "page.js"))
    text = part("page.html").replace("/*style*/", style).replace("/*script*/", script)
    policy = (
        f"default-src 'none'; style-src '{fingerprint(style)}'; script-src '{fingerprint(script)}';"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return text.replace("{{sandbox}}", html.escape(sandbox_url)), policy


def part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")


def fingerprint(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
