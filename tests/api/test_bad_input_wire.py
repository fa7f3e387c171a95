"""Invalid HTTP and bodies: unreadable, too large or unfinished; slow, idle and many clients."""

from __future__ import annotations

import http.client
import json
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from tests.api.bad_values import Document
from tests.api.fake_worker import put
from tests.api.processes import DEADLINE, Client, Reply, Server, eventually

NOBODY = "01932c07-5b1e-7cc3-98c4-dc0c0c07398f"
MEGABYTES = 100
MAX_LOGIN_BYTES = 20_000
GROWTH = 30_000_000  # bytes that a process may take for itself meanwhile
UNREADABLE: list[tuple[bytes, int, str]] = [
    (b"Hello", 400, "not JSON"),
    (b'{"a": 1', 400, "not JSON"),
    (b"text=Hello&accounts=x", 400, "not JSON"),
    (b'{"a": "caf\xe9"}', 400, "not UTF-8 text (byte 10)"),
    (b"\xff\xfe{\x00}\x00", 400, "not UTF-8"),
    (b'{"a": NaN}', 400, "NaN is not a JSON number"),
    (b'{"a": -Infinity}', 400, "-Infinity is not a JSON number"),
    (b'{"a": 1e400}', 400, "too large: 1e400"),
    (b'{"a": ' + b"9" * 5000 + b"}", 400, "not JSON"),
    (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400, "nested too deeply"),
    (b'{"a": ' + b"[" * 960 + b"]" * 960 + b"}", 400, "nested too deeply"),
    (b'{"a": ' + b'{"a":' * 200 + b"1" + b"}" * 200 + b"}", 400, "nested too deeply"),
    (b'{"a": 1, "b": 2, "a": 3}', 422, "a is in the same object twice"),
    (json.dumps(dict.fromkeys(map(str, range(101)), 0)).encode(), 422, "fields"),
    (b'{"a": "\\ud800"}', 422, "a contains NUL or an unpaired surrogate"),
    (b'{"a": "\\u0000"}', 422, "a contains NUL or an unpaired surrogate"),
    (b'{"\\ud800": 1}', 422, "unpaired surrogate"),
    (b"[]", 422, "must be an object"),
    (b'"Hello"', 422, "must be an object"),
    (b"7", 422, "must be an object"),
    (b" " * 1_000_001, 413, "larger than"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Run a server that waits for one second only."""
    folder = tmp_path_factory.mktemp("wire") / "data"
    with Server(folder, POSTINO_API_RATE="0", POSTINO_API_READ_TIMEOUT="1") as server:
        yield server
        assert server.api.get("/health/ready")["status"] == "ready"
        server.process.terminate()
        result = server.end()
        assert "Traceback" not in result, result
        lines = [json.loads(line) for line in result.splitlines()]
        assert [line for line in lines if line["level"] != "info" and line["event"] != "api.refused"] == []


@pytest.fixture(autouse=True)
def _check_nothing_created(server: Server) -> Iterator[None]:
    yield
    made = server.api.get("/v1/jobs?limit=200")["data"]
    assert [job["type"] for job in made if job["type"] != "deaf"] == []


def connect(server: Server) -> socket.socket:
    where = urlsplit(server.api.url)
    assert where.hostname is not None
    assert where.port is not None
    return socket.create_connection((where.hostname, where.port), timeout=DEADLINE)


def head(server: Server, path: str = "/v1/jobs", *, stranger: bool = False, **headers: str) -> bytes:
    fields = {"Host": "localhost", **({} if stranger else server.api.headers), **headers}
    lines = "".join(f"{name.replace('_', '-')}: {text}\r\n" for name, text in fields.items())
    return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode()


def answer(opened: socket.socket) -> Reply:
    result = http.client.HTTPResponse(opened)
    result.begin()
    return Reply(result.status, {name.lower(): text for name, text in result.getheaders()}, result.read())


def resident(server: Server) -> int:
    size: int = psutil.Process(server.process.pid).memory_info().rss
    return size


def is_problem(reply: Reply, status: int) -> bool:
    return (reply.status, reply.headers["content-type"]) == (status, "application/problem+json")


def test_unreadable_body_is_rejected_at_every_route(server: Server) -> None:
    wrong, count = [], 0
    connection = http.client.HTTPConnection(urlsplit(server.api.url).netloc, timeout=DEADLINE)
    document = Document(server.api.get("/v1/openapi.json"))
    for method, path, operation in document.operations():
        if document.get_body(operation) is None:
            continue
        whole = re.sub(r"\{\w+\}", NOBODY, path.replace("{scope}", "channel"))
        empty = [(b"", 422, "body is missing")] if operation["requestBody"].get("required") else []
        for body, status, words in [*empty, *UNREADABLE]:
            count += 1
            connection.request(method, whole, body, {**server.api.headers, "Content-Type": "text/plain"})
            got = connection.getresponse()
            response = json.loads(got.read())
            too_large = path.startswith("/v1/login") and len(body) > MAX_LOGIN_BYTES and got.status == 413
            if not too_large and (got.status != status or words not in response["detail"]):
                wrong.append(f"{method} {path} {body[:30]!r}: {got.status} {response['detail'][:100]}")
    connection.close()
    assert not wrong, "\n".join(wrong)
    assert count > 500, "too few cases"


def test_missing_key_gets_401_before_the_body_is_sent(server: Server) -> None:
    for length in ("10", "100000000", "99999999999999999999"):
        with connect(server) as opened:
            opened.sendall(head(server, stranger=True, Content_Length=length, Expect="100-continue"))
            reply = answer(opened)
            assert is_problem(reply, 401), reply
    for body in (b"{", b"\xff", b" " * 2_000_000):
        reply = Client(server.api.url).ask("POST", "/v1/posts", body)
        assert is_problem(reply, 401), reply
    elsewhere = Client(server.api.url).ask("POST", "/v1/nothing", b"{")
    assert is_problem(elsewhere, 401), elsewhere


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/imports", "/v1/login"])
def test_declared_large_body_is_rejected_before_it_is_sent(server: Server, path: str) -> None:
    with connect(server) as opened:
        opened.sendall(head(server, path, Content_Length=str(MEGABYTES * 1_000_000)))
        reply = answer(opened)
    assert is_problem(reply, 413), reply
    assert "larger than" in reply.json["detail"]


def test_streamed_large_body_gets_413_and_uses_no_memory(server: Server) -> None:
    before = resident(server)
    reply = server.api.ask("POST", "/v1/jobs", b"x" * (MEGABYTES * 1_000_000))  # listens only when all is sent
    assert is_problem(reply, 413), reply
    with connect(server) as opened:
        opened.sendall(head(server, Transfer_Encoding="chunked"))
        sending = threading.Thread(target=pour, args=(opened,))
        sending.start()
        reply = answer(opened)
        assert is_problem(reply, 413), reply
        sending.join()
    assert resident(server) - before < GROWTH


@pytest.mark.parametrize(("key", "status"), [("right", 413), ("wrong", 401)])
def test_connection_close_still_delivers_the_response(server: Server, key: str, status: int) -> None:
    fields = {"Connection": "close", **({} if key == "right" else {"Authorization": "Bearer wrong"})}
    reply = Client(server.api.url, {**server.api.headers, **fields}).ask("POST", "/v1/jobs", b"x" * 5_000_000)
    assert is_problem(reply, status), reply
    assert reply.headers["connection"] == "close"


def pour(opened: socket.socket) -> None:
    piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    with suppress(OSError):  # it hung up
        for _ in range(MEGABYTES * 1_000_000 // 65536):
            opened.sendall(piece)


@pytest.mark.parametrize(
    "wrong",
    [
        {"accounts": [7] * 300_000},
        {"accounts": ["z" * 900_000]},
        {"accounts": [], "media": [{}] * 200_000},
        {"accounts": ["x"], "thread": ["x"] * 100_000},
        {"accounts": ["x"], "text": "{{a}}" * 1000, "placeholders": {"a": "x" * 5000}},
        {"accounts": ["x"], "placeholders": {f"name {number}": 7 for number in range(40_000)}},
        {"accounts": ["x"], "timezone": "z" * 900_000},
        {"accounts": ["x"], "at": "2" * 900_000},
        {f"z{number}": 1 for number in range(60_000)},
        {"z" * 900_000: 1},
    ],
    ids=lambda wrong: " ".join(wrong)[:30],
)
def test_body_with_many_problems_gets_a_short_response(server: Server, wrong: dict[str, Any]) -> None:
    begun_at = time.monotonic()
    reply = server.api.ask("POST", "/v1/posts", wrong)
    assert time.monotonic() - begun_at < 5
    assert is_problem(reply, 422), reply
    assert len(reply.body) < 50_000


def test_incomplete_body_is_dropped(server: Server) -> None:
    body = json.dumps({"type": "report", "run_at": "2035-01-01T00:00:00Z"}).encode()
    for whole in (
        head(server, Transfer_Encoding="chunked") + f"{len(body):x}\r\n".encode() + body + b"\r\n",
        head(server, Content_Length=str(len(body) + 1)) + body,
    ):
        with connect(server) as opened:
            opened.sendall(whole)
    assert server.api.ask("GET", "/v1/jobs?type=report").json["data"] == []


def test_half_closed_connection_gets_every_response(server: Server) -> None:
    body = json.dumps({"type": "deaf", "run_at": "2099-01-01T00:00:00Z"}).encode()
    result = head(server, Content_Length=str(len(body))) + body
    half = head(server, Content_Length=str(len(body) + 1)) + body
    with connect(server) as opened:
        opened.sendall(result + result + half)
        opened.shutdown(socket.SHUT_WR)
        output = b"".join(iter(lambda: opened.recv(65536), b""))
    assert output.count(b"HTTP/1.1 201") == output.count(b"HTTP/1.1 ") == 2, output


def test_absolute_url_works_like_a_path(server: Server) -> None:
    wanted = {"http://x/v1/me": 200, "HTTP://x:1/v1/%6De?": 200, "http://x": 200, "http://x/x": 404, "httpx://x": 404}
    for target, status in wanted.items():
        with connect(server) as opened:
            opened.sendall(head(server, target).replace(b"POST", b"GET", 1))
            assert answer(opened).status == status, target


@pytest.mark.parametrize("name", ["Authorization", "Idempotency-Key", "Last-Event-ID"])
def test_repeated_header_is_rejected(server: Server, name: str) -> None:
    with connect(server) as opened:
        once = head(server, "/v1/me").replace(b"POST", b"GET", 1)[:-2]
        opened.sendall(once + f"{name}: a\r\n{name}: a\r\n\r\n".encode())
        reply = answer(opened)
    assert is_problem(reply, 422), reply
    assert reply.json["field"].lower() == name.lower()


def trickle(opened: socket.socket, text: bytes, over: threading.Event) -> None:
    with suppress(OSError):
        for number in range(len(text)):
            opened.sendall(text[number : number + 1])
            if over.wait(0.05):
                return


@pytest.mark.slow
@pytest.mark.parametrize("slow", ["head", "body"])
def test_slow_client_is_disconnected_and_delays_no_other_client(server: Server, slow: str) -> None:
    over = threading.Event()
    with connect(server) as opened:
        begun_at = time.monotonic()
        if slow == "body":
            opened.sendall(head(server, Content_Length="900"))
        text = head(server, Content_Length="900", X_Slow="x" * 500) if slow == "head" else b" " * 900
        sending = threading.Thread(target=trickle, args=(opened, text, over))
        sending.start()
        others = 0
        while not select.select([opened], [], [], 0)[0]:
            assert server.api.get("/health/ready")["status"] == "ready"
            others += 1
        assert others > 2, "meanwhile"
        reply = answer(opened)
        took = time.monotonic() - begun_at
        over.set()
        sending.join()
    assert is_problem(reply, 408), reply
    assert 0.9 < took < DEADLINE / 2


@pytest.mark.slow
def test_idle_connections_block_no_client_and_are_closed(server: Server) -> None:
    with ExitStack() as stack:
        idle = [stack.enter_context(connect(server)) for _ in range(400)]
        for opened in idle[::2]:
            opened.sendall(b"GET /v1/jobs HTTP/1.1\r\n")
        assert server.api.get("/health/ready")["status"] == "ready"
        for number, opened in enumerate(idle):
            result = opened.recv(65536)
            assert result == b"" if number % 2 else result.startswith(b"HTTP/1.1 408"), result


@pytest.mark.parametrize(
    ("value", "status"),
    [
        (lambda server: b"GET /v1/jobs?text=" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 431),
        (lambda server: head(server, X_Large="x" * 100_000), 431),
        (lambda server: b"GET /v1/jobs HTTP/1.1\r\n" + b"X: x\r\n" * 9000 + b"\r\n", 431),
        (lambda server: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 500, 400),
        (lambda server: b"HELO postino\r\n\r\n", 400),
        (lambda server: b"GET /caf\xe9 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (lambda server: head(server, Content_Length="-1"), 400),
        (lambda server: head(server, Content_Length="10")[:-2] + b"Content-Length: 9\r\n\r\n", 400),
        (lambda server: head(server, Transfer_Encoding="chunked") + b"not a length\r\n", 400),
        (lambda server: head(server, Transfer_Encoding="chunked", Content_Length="5") + b"0\r\n\r\n", 400),
    ],
    ids=["address", "header", "headers", "tls", "smtp", "latin-1", "length", "lengths", "chunk", "length and chunk"],
)
def test_invalid_http_and_large_headers_get_an_error(
    server: Server, value: Callable[[Server], bytes], status: int
) -> None:
    with connect(server) as opened:
        opened.sendall(value(server))
        reply = answer(opened)
        assert is_problem(reply, status), reply
        assert reply.json["status"] == status
        assert opened.recv(10) == b""


@pytest.mark.slow
def test_client_that_reads_nothing_is_disconnected(server: Server) -> None:
    payload: dict[str, Any] = {"text": "x" * 900_000}
    for _ in range(20):
        put(server.api, type="deaf", payload=payload, run_at="2099-01-01T00:00:00Z")
    with connect(server) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.sendall(head(server, "/v1/jobs?type=deaf&limit=20").replace(b"POST", b"GET", 1) * 20)  # 2 MB each
        port = deaf.getsockname()[1]
        eventually(lambda: port in connect_from(server))
        eventually(lambda: port not in connect_from(server))


def connect_from(server: Server) -> list[int]:
    """Return the ports of the connected clients."""
    there = psutil.Process(server.process.pid).net_connections()
    return [it.raddr.port for it in there if it.status == psutil.CONN_ESTABLISHED]


@pytest.mark.parametrize(("method", "path", "status"), [("POST", "/health/live", 405), ("GET", "/v1/jobs", 413)])
def test_connection_continues_after_a_body_that_nobody_reads(
    server: Server, method: str, path: str, status: int
) -> None:
    connection = http.client.HTTPConnection(urlsplit(server.api.url).netloc, timeout=DEADLINE)
    for _ in range(3):
        connection.request(method, path, b"x" * 1_000_000, dict(server.api.headers))
        response = connection.getresponse()
        response.read()
        assert response.status == status
        connection.request("GET", "/health/live")
        assert connection.getresponse().read() == b'{"status":"live"}'
    connection.close()
