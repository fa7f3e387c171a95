"""What `postino up` says once everything runs: where to look, and what to try."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

from postino.cli.connection import Target
from postino.cli.supervisor import ServiceUrls

HELLO = 'post "Hello from Postino" --to bluesky --wait'
BY_API = {"text": "Hello from the API", "accounts": ["mastodon:postcard"]}
LIST = "posts list"


def lines(
    data_dir: Path, target: Target, dashboard_url: str, sign_in_url: str, urls: ServiceUrls, key: str, log: Path | None
) -> Iterator[str]:
    yield f"Postino is up on {data_dir}. Posts to the sandbox's accounts leave this machine nowhere."
    yield ""
    yield f"  Dashboard     {dashboard_url}"
    yield f"  Sign in       {sign_in_url}"
    yield f"  Sandbox feed  {urls.sandbox_url}/"
    yield f"  API           {urls.url}/v1"
    yield f"  API key       {key}"
    if log is not None:
        yield f"  Log           {log}"
    yield ""
    yield "The link to sign in works once, within ten minutes."
    yield "Try, in another terminal, and watch the feed:"
    for command in (target.format_command(HELLO), by_api(urls.url, key), target.format_command(LIST)):
        yield f"  {command}"
    yield ""
    yield "Ctrl-C stops it, and nothing is lost: `up` again goes on where it stopped."


def by_api(url: str, key: str) -> str:
    return f"curl -H 'Authorization: Bearer {key}' -d {shlex.quote(json.dumps(BY_API))} {url}/v1/posts"
