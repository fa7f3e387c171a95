"""What it takes to speak for an account, from prompts, a file or standard input: never from the command line."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import typer

from postino.cli.session import Where
from postino.errors import WrongUse
from postino.values.content import NETWORKS


def credentials_from(network: str, file: Path | None, where: Where) -> dict[str, str]:
    """A server elsewhere may have networks of its own: what they need, it says itself."""
    from postino.publishing.accounts import NEEDED, check_network
    from postino.wiring import required_credentials

    elsewhere, asks = where.address() is not None, file is None and sys.stdin.isatty()
    needed = NEEDED if elsewhere else required_credentials(where.config())
    if asks or not elsewhere or network in NETWORKS:
        check_network(network, needed)
    return prompted(needed[network]) if asks else read(file)


def prompted(needed: Mapping[str, str]) -> dict[str, str]:
    """On stderr, so that stdout is the answer alone."""
    return {name: typer.prompt(words, hide_input=name != "chat_id", err=True) for name, words in needed.items()}


def read(file: Path | None) -> dict[str, str]:
    """A JSON object of texts. What is in it is in no message."""
    try:
        told = json.loads(sys.stdin.read() if file is None or str(file) == "-" else file.read_text())
    except FileNotFoundError:
        raise WrongUse(f"credentials: there is no file {file}.", field="credentials") from None
    except (ValueError, RecursionError):
        told = None
    texts = isinstance(told, dict) and all(isinstance(part, str) for pair in told.items() for part in pair)
    if not told or not texts:
        raise WrongUse('credentials: give a JSON object of texts, such as {"password": "…"}.', field="credentials")
    given: dict[str, str] = told
    return given
