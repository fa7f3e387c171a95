"""The status page: one HTML page that shows the latest posts, loads nothing from elsewhere and asks for an API key."""

import base64
import hashlib
import html
from functools import cache
from pathlib import Path

from fastapi.responses import HTMLResponse

from postino.api.context import Context
from postino.api.routes import Routes

routes = Routes("status page")
FOLDER = Path(__file__).parent


@routes.add("GET", "/", role=None, needs_store=False, in_schema=False)
async def get_status_page(context: Context) -> HTMLResponse:
    """Get status page.

    Returns an HTML page without data; its script asks the API with the key that the visitor enters.
    """
    text, policy = render_page(context.app.config.sandbox.url)
    return HTMLResponse(text, headers={"Content-Security-Policy": policy})


def render_message(status: int, title: str, *sentences: str) -> HTMLResponse:
    """Render an error for a person who followed a link."""
    paragraphs = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences)
    title = html.escape(title)
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    text = f'<!doctype html><html lang="en"><head>{head}</head><body><h1>{title}</h1>{paragraphs}</body></html>'
    return HTMLResponse(text, status)


@cache
def render_page(sandbox_url: str) -> tuple[str, str]:
    """Return the page, and the content security policy that allows exactly its own style and script."""
    style, script = (read_part(name) for name in ("page.css", "page.js"))
    text = read_part("page.html").replace("/*style*/", style).replace("/*script*/", script)
    policy = (
        f"default-src 'none'; style-src '{hash_source(style)}'; script-src '{hash_source(script)}';"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return text.replace("{{sandbox}}", html.escape(sandbox_url)), policy


def read_part(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def hash_source(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
