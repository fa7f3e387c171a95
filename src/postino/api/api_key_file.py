"""The first API key, in the file `api.key` of the data directory. It has the role owner and access to all brands."""

import os
import secrets
import stat
from pathlib import Path

from postino.auth.api_keys import PREFIX
from postino.errors import PostinoError


def read_or_create_key(path: Path) -> str:
    """Return the key in this file. Create it if it is missing: completely or not at all, readable by its owner only."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w") as file:
                file.write(PREFIX + secrets.token_urlsafe(32) + "\n")
                file.flush()
                os.fsync(descriptor)
            os.link(temporary, path)  # unlike a rename, it does not replace a key that another start has just created
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
    return read_key(path)


def read_key(path: Path) -> str:
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise PostinoError(f"{path} can be read or changed by other users. Run `chmod 600 {path}`, or remove it.")
    key = path.read_text(errors="replace").strip()
    if len(key) < len(PREFIX) or not key.isascii():
        raise PostinoError(f"{path} holds no key. Remove it, and the next start creates a new one.")
    return key
