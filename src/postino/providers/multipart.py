"""Encode forms with files as multipart/form-data."""

import hashlib
from collections.abc import Mapping

from postino.providers.media_download import MediaFile


def encode_multipart(fields: Mapping[str, str], files: Mapping[str, MediaFile]) -> tuple[dict[str, str], list[bytes]]:
    """Return the Content-Type header and the parts of the body, without a second copy of the files.

    The boundary is a hash of the content, so it cannot occur in it.
    """
    digest = hashlib.sha256(repr(sorted(fields.items())).encode())
    for file in files.values():
        digest.update(file.data)
    boundary = digest.hexdigest()
    parts = [piece for name, value in fields.items() for piece in _encode(boundary, f'name="{name}"', value.encode())]
    for name, file in files.items():
        disposition = f'name="{name}"; filename="{file.name}"\r\nContent-Type: {file.type}'
        parts += _encode(boundary, disposition, file.data)
    parts.append(f"--{boundary}--\r\n".encode())
    return {"Content-Type": f"multipart/form-data; boundary={boundary}"}, parts


def _encode(boundary: str, disposition: str, value: bytes) -> list[bytes]:
    return [f"--{boundary}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n".encode(), value, b"\r\n"]
