"""The address of an account's server: an origin and perhaps a path, parsed strictly.

Programs disagree about what an unusual URL means, and a path is appended to this one. So Postino accepts no user name,
query, fragment, percent sign, backslash, dot segment or blank, and no character outside ASCII.
"""

import re

from postino.errors import WrongUse

SANDBOX = "sandbox:"  # prefix of an address below the sandbox, whose URL changes with every start
HOST = r"\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*"
ORIGIN = re.compile(rf"(https?)://({HOST})(?::([0-9]{{1,5}}))?", re.ASCII)
PATH = re.compile(r"(?:/[A-Za-z0-9~][A-Za-z0-9_.~-]*)*/?", re.ASCII)
DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_LENGTH = 500
SHAPE = (
    "base_url must begin with https://, followed by a host, perhaps a port and a plain path, such as"
    " https://example.org/blog. It cannot contain a user name, a query, a fragment, a percent sign, a backslash, a path"
    " segment that begins with a dot, or letters outside ASCII (write such a host in its xn-- form)."
)


def normalize_base_url(text: str, network: str) -> str:
    """Return the base URL of an account in its one form: `https://host/path`, or `sandbox:/network`.

    Raises WrongUse if it has any other form.
    """
    if text.startswith(SANDBOX):
        if text != f"{SANDBOX}/{network}":
            raise WrongUse(f"base_url: an account of {network} in the sandbox has {SANDBOX}/{network}.", "base_url")
        return text
    match = ORIGIN.match(text[:MAX_LENGTH])
    origin = match and normalize_origin(match[0])
    if match is None or origin is None or len(text) > MAX_LENGTH or not PATH.fullmatch(text, match.end()):
        raise WrongUse(SHAPE, "base_url")  # without the text, which may contain a password
    return origin + text[match.end() :].rstrip("/")


def normalize_origin(text: str) -> str | None:
    """Return an origin as `https://host` or `https://host:port`, in lower case; None if it is anything else."""
    match = ORIGIN.fullmatch(text)
    if match is None:
        return None
    scheme, host, port = match[1], match[2].lower(), int(match[3] or DEFAULT_PORTS[match[1]])
    if not 0 < port < 65536:
        return None
    return f"{scheme}://{host}" + ("" if port == DEFAULT_PORTS[scheme] else f":{port}")
