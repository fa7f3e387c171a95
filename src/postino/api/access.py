"""Who may ask: whoever holds the key in `api.key`, which is made at the first start and shown to nobody else."""

import hmac
import os
import secrets
import stat
from pathlib import Path

from fastapi import HTTPException, Request

from postino.api.callers import Caller
from postino.errors import PostinoError

PREFIX = "postino_"
NO_KEY = (
    "This needs the API key: send the header `Authorization: Bearer KEY`. `postino up` shows the key, and it is in"
    " api.key in the data directory."
)
WRONG_KEY = "That is not the API key of this Postino. It is in api.key in its data directory."


def read_or_create(path: Path) -> str:
    """The key of this file, which is made if there is none: whole or not at all, for its owner only."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(PREFIX + secrets.token_urlsafe(32) + "\n")
                file.flush()
                os.fsync(descriptor)
            os.link(temporary, path)  # unlike a rename it does not replace the key that another start has just made
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    return read(path)


def read(path: Path) -> str:
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise PostinoError(f"{path} can be read or changed by others. Run `chmod 600 {path}`, or remove it.")
    key = path.read_text(errors="replace").strip()
    if len(key) < len(PREFIX) or not key.isascii():
        raise PostinoError(f"{path} holds no key. Remove it, and a new one is made at the next start.")
    return key


class KeyCheck:
    """Lets in who knows the key; how long the comparison takes tells nothing about it."""

    def __init__(self, key: str) -> None:
        self.key = key.encode()

    async def __call__(self, request: Request) -> None:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not given.strip():
            raise HTTPException(401, NO_KEY, {"WWW-Authenticate": "Bearer"})
        if not hmac.compare_digest(given.strip().encode(), self.key):
            raise HTTPException(401, WRONG_KEY, {"WWW-Authenticate": 'Bearer error="invalid_token"'})
        request.state.caller = Caller("api", "api.key")
