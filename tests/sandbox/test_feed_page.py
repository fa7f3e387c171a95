"""The feed is one page that loads nothing from other servers and runs only its own script."""

from __future__ import annotations

import base64
import hashlib
import re

from tests.sandbox.sandbox_client import SandboxClient, SandboxResponse


def between(page: SandboxResponse, tag: str) -> str:
    [text] = re.findall(f"<{tag}>(.*?)</{tag}>", page.text, re.DOTALL)
    return str(text)


def policy(page: SandboxResponse) -> dict[str, list[str]]:
    parts = [part.split() for part in page.headers["Content-Security-Policy"].split(";")]
    return {name: values for name, *values in parts}


async def test_feed_policy_allows_only_its_own_style_and_script(sandbox: SandboxClient) -> None:
    page = await sandbox.get("/")
    assert page.headers["Content-Type"].startswith("text/html")
    body = policy(page)
    assert body["default-src"] == ["'none'"]
    for tag, source in (("style", "style-src"), ("script", "script-src")):
        digest = base64.b64encode(hashlib.sha256(between(page, tag).encode()).digest()).decode()
        assert body[source] == [f"'sha256-{digest}'"]
    assert [body[name] for name in ("img-src", "media-src", "connect-src")] == [["'self'"]] * 3


async def test_feed_loads_nothing_from_other_servers(sandbox: SandboxClient) -> None:
    page = await sandbox.get("/")
    assert re.findall(r"(?:src|href)=[\"'](?!/_sandbox/)", page.text) == []
    assert set(re.findall(r"https?://[^\s\"']+", page.text)) == {"http://www.w3.org/2000/svg"}


async def test_feed_inserts_user_content_as_text_only(sandbox: SandboxClient) -> None:
    script = between(await sandbox.get("/"), "script")
    assert "textContent" in script
    for way_in in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert way_in not in script


async def test_feed_page_has_every_element_the_script_uses(sandbox: SandboxClient) -> None:
    page = await sandbox.get("/")
    wanted = set(re.findall(r"\$\(\"([\w-]+)\"\)", between(page, "script")))
    assert wanted
    assert wanted <= set(re.findall(r"id=\"([\w-]+)\"", page.text))
