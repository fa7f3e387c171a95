"""The key of a job: the same key on the same channel is the same job, for ever."""

import hashlib


def job_key(caller_key: str, account: str | None) -> str:
    """From a caller's own key. Length-prefixed, so that no two pairs run together into one text."""
    digest = hashlib.sha256()
    for part in (caller_key, account or ""):
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()
