"""The message of `postino up` when everything runs."""

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from postino.cli.connection import Target
from postino.cli.supervisor import ServiceUrls

HELLO = 'post "Hello from Postino" --to bluesky --wait'
BY_API = {"text": "Hello from the API", "accounts": ["mastodon:postcard"]}
LIST = "posts list"


@dataclass(frozen=True, slots=True)
class OwnerAccess:
    """What makes everybody who reads it the owner. Only a terminal shows it: other output ends up in files."""

    key: str = field(repr=False)
    dashboard_url: str = field(repr=False)
    sign_in_url: str = field(repr=False)


def list_lines(
    data_dir: Path, target: Target, urls: ServiceUrls, access: OwnerAccess | None, log: Path | None
) -> Iterator[str]:
    key_file = data_dir / "api.key"
    yield f"Postino is running on {data_dir}. Posts to sandbox accounts never leave this machine."
    yield ""
    yield f"  Dashboard     {access.dashboard_url if access else urls.url}"
    yield f"  Sign in       {access.sign_in_url if access else target.format_command('users link')}"
    yield f"  Sandbox feed  {urls.sandbox_url}/"
    yield f"  API           {urls.url}/v1"
    yield f"  API key       {access.key if access else key_file}"
    if log is not None:
        yield f"  Log           {log}"
    yield ""
    if access:
        yield "The sign-in link works once, within ten minutes."
    yield "Try this in another terminal and watch the feed:"
    curl = format_curl(urls.url, f"'Authorization: Bearer {access.key}'" if access else read_from_file(key_file))
    for command in (target.format_command(HELLO), curl, target.format_command(LIST)):
        yield f"  {command}"
    yield ""
    yield "Press Ctrl-C to stop. Nothing is lost: `up` continues where it stopped."


def read_from_file(key_file: Path) -> str:
    """Return a header for the shell, which reads the key."""
    return f'"Authorization: Bearer $(cat {shlex.quote(str(key_file))})"'


def format_curl(url: str, header: str) -> str:
    return f"curl -H {header} -d {shlex.quote(json.dumps(BY_API))} {url}/v1/posts"
