"""The message of `postino up` when everything runs."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

from postino.cli.connection import Target
from postino.cli.supervisor import ServiceUrls

HELLO = 'post "Hello from Postino" --to bluesky --wait'
BY_API = {"text": "Hello from the API", "accounts": ["mastodon:postcard"]}
LIST = "posts list"


def list_lines(
    data_dir: Path, target: Target, dashboard_url: str, sign_in_url: str, urls: ServiceUrls, key: str, log: Path | None
) -> Iterator[str]:
    yield f"Postino is running on {data_dir}. Posts to sandbox accounts never leave this machine."
    yield ""
    yield f"  Dashboard     {dashboard_url}"
    yield f"  Sign in       {sign_in_url}"
    yield f"  Sandbox feed  {urls.sandbox_url}/"
    yield f"  API           {urls.url}/v1"
    yield f"  API key       {key}"
    if log is not None:
        yield f"  Log           {log}"
    yield ""
    yield "The sign-in link works once, within ten minutes."
    yield "Try this in another terminal and watch the feed:"
    for command in (target.format_command(HELLO), format_curl(urls.url, key), target.format_command(LIST)):
        yield f"  {command}"
    yield ""
    yield "Press Ctrl-C to stop. Nothing is lost: `up` continues where it stopped."


def format_curl(url: str, key: str) -> str:
    return f"curl -H 'Authorization: Bearer {key}' -d {shlex.quote(json.dumps(BY_API))} {url}/v1/posts"
