"""A server that takes a connection, stops reading, and reads the rest when a test says so."""

from __future__ import annotations

import datetime
import ipaddress
import re
import socket
import ssl
import struct
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

NARROW = 16_384  # bytes that the kernel of the server takes by itself


@dataclass
class StalledServer:
    """Serves one connection, in a thread: no event loop reads ahead."""

    certificate: Path | None = None
    read_first: int = 0  # bytes of the body to read before the server stalls
    resets: bool = False  # ends the connection instead of reading on
    reads_on: threading.Event = field(default_factory=threading.Event)
    request: bytes = b""
    is_broken: bool = False  # the connection ended in an error, not at the end of a request

    def __enter__(self) -> Self:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, NARROW)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.reads_on.set()
        self._thread.join(10)
        self._listening.close()

    @property
    def url(self) -> str:
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{self._listening.getsockname()[1]}/post"

    def has_complete_request(self) -> bool:
        """Read on to the end of the connection, and return whether the whole request arrived."""
        self.reads_on.set()
        self._thread.join(10)
        head, _, body = self.request.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        return length is not None and len(body) == int(length[1])

    def _serve(self) -> None:
        connection, _ = self._listening.accept()
        connection.settimeout(10)
        try:
            connection = self._encrypt(connection)
            while len(self.request) < self.read_first:
                self.request += connection.recv(min(4096, self.read_first - len(self.request)))
            self.reads_on.wait(10)
            while not self.resets and (piece := connection.recv(65_536)):
                self.request += piece
            if self.resets:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            self.is_broken = True
        finally:
            connection.close()

    def _encrypt(self, connection: socket.socket) -> socket.socket:
        if self.certificate is None:
            return connection
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.certificate)
        return context.wrap_socket(connection, server_side=True, suppress_ragged_eofs=False)


def write_certificate(path: Path) -> Path:
    """Write a new certificate for 127.0.0.1 with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path
