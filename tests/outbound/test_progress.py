"""The pace of a download or an upload: how long a server may take, by the rate at which it sends or reads."""

import asyncio
from typing import cast

import pytest

from postino.outbound import progress
from postino.outbound.progress import MAX_TRANSFER_SECONDS, RequestProgress, TransferPace, allow_sending

WINDOW = 120.0
KB = 1000
MB = 1000 * KB


def download(*rates: tuple[float, int], start: float = 1000.0) -> float:
    """Return after how many seconds a download ends that gets these (seconds, bytes a second) one after the other."""
    pace, now, received = TransferPace(start, WINDOW), start, 0
    until = start + WINDOW
    for seconds, rate in rates:
        for _ in range(int(seconds)):
            now, received = now + 1.0, received + rate
            if now > until:
                return until - start
            until = pace.compute_deadline(received, now)
    return now - start


@pytest.mark.parametrize(
    ("rates", "seconds"),
    [
        ([(7200, 10 * KB)], WINDOW),  # a host that drips
        ([(1, 50 * MB), (7200, 10 * KB)], 1 + WINDOW),  # a burst buys no more time
        ([(600, 1 * MB), (7200, 10 * KB)], 600 + WINDOW),
        ([(7200, 60 * KB)], MAX_TRANSFER_SECONDS),  # slow, but steady
        ([(110, 20 * KB)], 110),  # a small file
        ([(400, 200 * KB)], 400),
    ],
)
def test_download_ends_when_a_window_brings_too_little(rates: list[tuple[float, int]], seconds: float) -> None:
    assert download(*rates) == pytest.approx(seconds, abs=WINDOW / 10)


class SlowSocket:
    """Takes so many bytes each time somebody looks at it."""

    def __init__(self, held: int, rate: int) -> None:
        self.held, self.rate = held, rate

    def get_write_buffer_size(self) -> int:
        self.held = max(0, self.held - self.rate)
        return self.held

    def is_closing(self) -> bool:
        return False


async def upload(held: int, rate: int) -> asyncio.Timeout:
    """Send a body of which the socket holds so many bytes at the end; return the timeout of the exchange."""
    request = RequestProgress(allow_sending, 0.4)
    parts = [b"head", b"x" * (held - 8), b"tail"]
    async with request.start() as timeout:
        request.transports = (cast("asyncio.Transport", SlowSocket(held, rate)),)
        assert b"".join([piece async for piece in request.send_pieces(parts)]) == b"".join(parts)
    return timeout


async def test_upload_of_which_the_server_takes_next_to_nothing_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "WINDOW_TIMEOUTS", 1)
    with pytest.raises(TimeoutError):
        await upload(20_000, 100)


async def test_upload_that_moves_ends_later_than_one_timeout_and_the_response_has_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "WINDOW_TIMEOUTS", 1)
    started = asyncio.get_running_loop().time()
    timeout = await upload(600_000, 20_000)
    ended_at = timeout.when()
    assert ended_at is not None
    assert ended_at - started > 2 * 0.4
