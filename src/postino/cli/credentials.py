"""What it takes to speak for an account, from prompts, a file or standard input: never from the command line."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import typer

from postino.content import NETWORKS
from postino.errors import WrongUse

# What is asked for, and in which words; a network that is not here takes a file.
ASKED: Mapping[str, Mapping[str, str]] = {
    "bluesky": {"password": "App password (Settings → Privacy and security → App passwords)"},
    "mastodon": {"access_token": "Access token (Preferences → Development → your application)"},
    "telegram": {"bot_token": "Bot token (from @BotFather)", "chat_id": "Chat id, or @channelname"},
}
NAMED_BY_HANDLE = {"bluesky": "identifier"}


def credentials_from(network: str, handle: str, file: Path | None) -> dict[str, str]:
    if network not in ASKED:
        known = "yet" if network in NETWORKS else f"; there are {', '.join(ASKED)}"
        raise WrongUse(f"network: Postino does not publish on {network!r} {known}.".replace(" ;", ";"), field="network")
    told = prompted(network) if file is None and sys.stdin.isatty() else read(file)
    for name in ASKED[network]:
        if not told.get(name, "").strip():
            raise WrongUse(f"credentials: {name} is missing. {ASKED[network][name]}.", field="credentials")
    identity = NAMED_BY_HANDLE.get(network)
    return told if identity is None else {identity: handle, **told}


def prompted(network: str) -> dict[str, str]:
    """On stderr, so that stdout is the answer alone."""
    return {
        name: typer.prompt(words, hide_input=name != "chat_id", err=True) for name, words in ASKED[network].items()
    }


def read(file: Path | None) -> dict[str, str]:
    """A JSON object of texts. What is in it is in no message."""
    try:
        told = json.loads(sys.stdin.read() if file is None or str(file) == "-" else file.read_text())
    except FileNotFoundError:
        raise WrongUse(f"credentials: there is no file {file}.", field="credentials") from None
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict) or not all(isinstance(part, str) for pair in told.items() for part in pair):
        raise WrongUse('credentials: give a JSON object of texts, such as {"password": "…"}.', field="credentials")
    return told
