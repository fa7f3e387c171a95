"""What `postino up` says once everything runs: where to look, and what to try."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from postino.cli.household import Addresses
from postino.cli.session import Where

HELLO = 'post "Hello from Postino" --to bluesky'
LIST = "posts list"
LOST = 'post "The answer to this one is lost" --to bluesky'


def lines(
    data_dir: Path, where: Where, dashboard_url: str, sign_in_url: str, addresses: Addresses, key: str, log: Path | None
) -> Iterator[str]:
    yield f"Postino is up on {data_dir}. Posts to the sandbox's accounts leave this machine nowhere."
    yield ""
    yield f"  Dashboard     {dashboard_url}"
    yield f"  Sign in       {sign_in_url}"
    yield f"  Sandbox feed  {addresses.sandbox_url}/"
    yield f"  API           {addresses.url}/v1"
    yield f"  API key       {key}"
    if log is not None:
        yield f"  Log           {log}"
    yield ""
    yield "The link to sign in works once, within ten minutes."
    yield "Try, in another terminal, and watch the feed:"
    for command in (HELLO, LIST):
        yield f"  {where.command(command)}"
    yield f"  {break_it(addresses.sandbox_url)}"
    yield f"  {where.command(LOST)}"
    yield ""
    yield "Ctrl-C stops it, and nothing is lost: `up` again goes on where it stopped."


def break_it(sandbox_url: str) -> str:
    """The next answer is lost after the network has published."""
    body = '{"network": "bluesky", "endpoint": "putRecord", "fault": "process_then_drop", "times": 1}'
    return f"curl -d {shlex.quote(body)} {sandbox_url}/_sandbox/faults"
