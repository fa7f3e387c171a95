"""Read credentials from prompts, a file or standard input; never from the command line."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import typer

from postino.cli.connection import Target
from postino.errors import WrongUse
from postino.values.provider import Credential


def read_credentials(network: str, file: Path | None, target: Target) -> dict[str, str]:
    """Read the credentials that the network needs. A remote server may know networks that this machine does not."""
    from postino.providers.registry import load_built_in
    from postino.publishing.accounts import check_network
    from postino.wiring import load_networks

    is_remote, can_prompt = target.server_url() is not None, file is None and sys.stdin.isatty()
    networks = load_built_in() if is_remote else load_networks(target.config())
    if can_prompt or not is_remote or network in networks.titles:
        check_network(network, networks)
    return prompt(networks.credentials[network]) if can_prompt else read_json(file)


def prompt(credentials: Mapping[str, Credential]) -> dict[str, str]:
    """Ask on stderr, so that stdout holds nothing but the result."""
    needed = {name: credential for name, credential in credentials.items() if not credential.is_handle}
    return {name: typer.prompt(it.prompt, hide_input=it.secret, err=True) for name, it in needed.items()}


def read_json(file: Path | None) -> dict[str, str]:
    """Read a JSON object of texts. No message contains its values."""
    try:
        values = json.loads(sys.stdin.read() if file is None or str(file) == "-" else file.read_text())
    except FileNotFoundError:
        raise WrongUse(f"credentials: the file {file} does not exist.", field="credentials") from None
    except (ValueError, RecursionError):
        values = None
    is_valid = isinstance(values, dict) and all(isinstance(part, str) for pair in values.items() for part in pair)
    if not values or not is_valid:
        raise WrongUse('credentials: expected a JSON object of texts, such as {"password": "…"}.', field="credentials")
    credentials: dict[str, str] = values
    return credentials
