"""Bind ports, and describe why that failed."""

import errno
import socket

from postino.errors import Conflict, WrongUse

LOOPBACK = "127.0.0.1"
SERVER_PORT = 8700
MAX_TRIED = 100


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a socket bound to this address. Port 0 picks a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
    except OSError as error:
        opened.close()
        raise to_error(host, port, error) from error
    return opened


def to_error(host: str, port: int, error: OSError) -> Conflict | WrongUse:
    if error.errno == errno.EADDRINUSE:
        return Conflict(
            f"Port {port} of {host} is in use by another process. Pass another --port, or --port 0 to use a free one."
        )
    return WrongUse(f"host: cannot listen on {host} port {port}: {error.strerror or error}.", field="host")


def format_url(opened: socket.socket) -> str:
    host, port = opened.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_free(port: int, host: str = LOOPBACK) -> bool:
    try:
        bind_socket(host, port).close()
    except (Conflict, WrongUse):
        return False
    return True


def find_free_port_after(port: int) -> int:
    """Return the first free port after this one, or any free port if there is none near or `port` is 0."""
    after = range(port + 1, min(port + MAX_TRIED, 65536)) if port else ()
    return next((number for number in after if is_free(number)), None) or any_free()


def any_free() -> int:
    with bind_socket(LOOPBACK, 0) as opened:
        number: int = opened.getsockname()[1]
        return number
