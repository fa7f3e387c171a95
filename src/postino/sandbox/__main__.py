"""`python -m postino.sandbox --data-dir D --port N`: run the sandbox as a process."""

import argparse
import asyncio
import json
import signal
import sys
from pathlib import Path

from postino.sandbox.server import serve


def print_url(url: str) -> None:
    sys.stdout.write(json.dumps({"url": url}) + "\n")
    sys.stdout.flush()


async def stop_at_eof(stop: asyncio.Event) -> None:
    """Stop when standard input ends: the process that holds its other end has exited."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(4096):
        pass
    stop.set()


async def run(data_dir: Path, host: str, port: int, *, until_eof: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(sign, stop.set)
    watch = asyncio.create_task(stop_at_eof(stop)) if until_eof else None
    try:
        await serve(data_dir / "sandbox.db", host, port, ready=print_url, stop=stop)
    finally:
        if watch is not None:
            watch.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m postino.sandbox", description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--until-eof", action="store_true")
    arguments = parser.parse_args()
    asyncio.run(run(arguments.data_dir, arguments.host, arguments.port, until_eof=arguments.until_eof))


if __name__ == "__main__":
    main()
