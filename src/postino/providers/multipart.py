"""Forms with files in them, as bytes."""

import hashlib
from collections.abc import Mapping

from postino.providers.media_download import File


def multipart(fields: Mapping[str, str], files: Mapping[str, File]) -> tuple[dict[str, str], bytes]:
    """The header that goes with it, and the body. The boundary is made of what it divides, so it is not within it."""
    digest = hashlib.sha256(repr(sorted(fields.items())).encode())
    for file in files.values():
        digest.update(file.data)
    boundary = digest.hexdigest()
    parts = [_part(boundary, f'name="{name}"', value.encode()) for name, value in fields.items()]
    for name, file in files.items():
        disposition = f'name="{name}"; filename="{file.name}"\r\nContent-Type: {file.type}'
        parts.append(_part(boundary, disposition, file.data))
    body = b"".join([*parts, f"--{boundary}--\r\n".encode()])
    return {"Content-Type": f"multipart/form-data; boundary={boundary}"}, body


def _part(boundary: str, disposition: str, value: bytes) -> bytes:
    return f"--{boundary}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n".encode() + value + b"\r\n"
