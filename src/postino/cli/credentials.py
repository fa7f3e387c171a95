"""What it takes to speak for an account, from prompts, a file or standard input: never from the command line."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import typer

from postino.cli.connection import Target
from postino.errors import WrongUse
from postino.values.provider import Credential


def read_credentials(network: str, file: Path | None, target: Target) -> dict[str, str]:
    """A server elsewhere may have networks of its own: what they need, it says itself."""
    from postino.providers.registry import load_built_in
    from postino.publishing.accounts import check_network
    from postino.wiring import load_networks

    elsewhere, asks = target.server_url() is not None, file is None and sys.stdin.isatty()
    networks = load_built_in() if elsewhere else load_networks(target.config())
    if asks or not elsewhere or network in networks.titles:
        check_network(network, networks)
    return prompted(networks.credentials[network]) if asks else read(file)


def prompted(credentials: Mapping[str, Credential]) -> dict[str, str]:
    """Ask on stderr, so that stdout holds nothing but the result."""
    asked = {name: credential for name, credential in credentials.items() if not credential.is_handle}
    return {name: typer.prompt(it.prompt, hide_input=it.secret, err=True) for name, it in asked.items()}


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
