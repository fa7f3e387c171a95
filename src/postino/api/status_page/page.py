"""A sign of life for eyes: one page that loads nothing from elsewhere and tells nothing without the key."""

import base64
import hashlib
import html
from functools import cache
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from postino.wiring import Postino

HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
PARTS = Path(__file__).parent


def routes(app: Postino) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def sign_of_life() -> HTMLResponse:
        text, policy = page(app.config.sandbox.url)
        return HTMLResponse(text, headers=HEADERS | {"Content-Security-Policy": policy})

    return router


def told_to_people(status: int, title: str, *sentences: str) -> HTMLResponse:
    """A refusal for who came by a link, and would be shown JSON."""
    words = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences)
    title = html.escape(title)
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    text = f'<!doctype html><html lang="en"><head>{head}</head><body><h1>{title}</h1>{words}</body></html>'
    policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return HTMLResponse(text, status, HEADERS | {"Content-Security-Policy": policy})


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
