"""The feed is one page that loads nothing from elsewhere and runs nothing but its own script."""

from __future__ import annotations

import base64
import hashlib
import re

from tests.sandbox.running import Answered, Sandbox


def between(page: Answered, tag: str) -> str:
    [text] = re.findall(f"<{tag}>(.*?)</{tag}>", page.text, re.DOTALL)
    return str(text)


def policy(page: Answered) -> dict[str, list[str]]:
    parts = [part.split() for part in page.headers["Content-Security-Policy"].split(";")]
    return {name: values for name, *values in parts}


async def test_the_page_is_whole_and_its_policy_lets_only_its_own_parts_run(sandbox: Sandbox) -> None:
    page = await sandbox.get("/")
    assert page.headers["Content-Type"].startswith("text/html")
    told = policy(page)
    assert told["default-src"] == ["'none'"]
    for tag, source in (("style", "style-src"), ("script", "script-src")):
        digest = base64.b64encode(hashlib.sha256(between(page, tag).encode()).digest()).decode()
        assert told[source] == [f"'sha256-{digest}'"]
    assert [told[name] for name in ("img-src", "media-src", "connect-src")] == [["'self'"]] * 3


async def test_nothing_is_loaded_from_elsewhere(sandbox: Sandbox) -> None:
    page = await sandbox.get("/")
    assert re.findall(r"(?:src|href)=[\"'](?!/_sandbox/)", page.text) == []
    assert set(re.findall(r"https?://[^\s\"']+", page.text)) == {"http://www.w3.org/2000/svg"}


async def test_what_people_wrote_is_only_ever_put_there_as_text(sandbox: Sandbox) -> None:
    script = between(await sandbox.get("/"), "script")
    assert "textContent" in script
    for way_in in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert way_in not in script


async def test_everything_the_script_looks_for_is_on_the_page(sandbox: Sandbox) -> None:
    page = await sandbox.get("/")
    wanted = set(re.findall(r"\$\(\"([\w-]+)\"\)", between(page, "script")))
    assert wanted
    assert wanted <= set(re.findall(r"id=\"([\w-]+)\"", page.text))
