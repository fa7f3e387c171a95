"""A hostile customer with an editor key of one brand, and strangers without a key, for a limited time."""

import asyncio
import itertools
import json
import resource
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

import aiohttp
import uvloop

from benchmarks.clients.hostile_server import MEGABYTE, run_hostile_servers

STREAMS = 20
PAUSE = 0.2  # seconds between two requests of one kind of attack
IMPORTED_ROWS = 500
HOSTILE_TEXTS = ("#" * 5000, "{{" * 2500, "http://" * 700, "@a" * 2500, "<" * 5000, "a." * 2500)
NOWHERE = "https://pictures.invalid/{}.jpg"
LARGE_TEXT = "x" * (MEGABYTE - 1000)
DEEP = b"[" * (MEGABYTE - 1000)
FIRST_EVENT = "0-0"
NO_KEY = {"Authorization": ""}
TEN_SECONDS = aiohttp.ClientTimeout(10)
Attack = Callable[[int], Awaitable[int]]


class Attacker:
    """Sends the requests of every kind of attack. Each returns the status of its response; 0: there was none."""

    def __init__(self, session: aiohttp.ClientSession, options: Mapping[str, Any]) -> None:
        self.session = session
        self.accounts: list[str] = options["accounts"]
        self.own_server_accounts: list[str] = options["own_server_accounts"]
        self.sandbox: str = options["sandbox"]
        self.brand: str = options["brand"]

    async def send(self, method: str, path: str, **content: Any) -> int:
        return (await self.ask(method, path, **content))[0]

    async def ask(self, method: str, path: str, **content: Any) -> tuple[int, bytes]:
        try:
            async with self.session.request(method, path, timeout=TEN_SECONDS, **content) as response:
                return response.status, await response.read()
        except (aiohttp.ClientError, TimeoutError):  # the server may close a connection that it refuses
            return 0, b""

    async def publish_missing_media(self, number: int) -> int:
        media = NOWHERE.format(number) if number % 2 else f"{self.sandbox}/_sandbox/missing/{number}.jpg"
        body = {"text": f"missing {number}", "accounts": self.accounts, "media": [{"url": media}]}
        return await self.send("POST", "/v1/posts", json=body)

    async def publish_on_hostile_servers(self, number: int) -> int:
        body = {"text": f"own server {number}", "accounts": self.own_server_accounts}
        return await self.send("POST", "/v1/posts", json=body)

    async def check_hostile_server(self, number: int) -> int:
        account = self.own_server_accounts[number % len(self.own_server_accounts)]
        return await self.send("POST", f"/v1/accounts/{account}/check")

    async def enqueue_unknown_types(self, number: int) -> int:
        body = {"type": f"unknown.{number % 50}", "payload": {"n": number}, "brand": self.brand}
        return await self.send("POST", "/v1/jobs", json=body)

    async def enqueue_large_payloads(self, number: int) -> int:
        body = {"type": "unknown.large", "payload": {"n": number, "x": LARGE_TEXT}, "brand": self.brand}
        return await self.send("POST", "/v1/jobs", json=body)

    async def publish_large_text(self, number: int) -> int:
        return await self.send("POST", "/v1/posts", json={"text": f"{number}{LARGE_TEXT}", "accounts": self.accounts})

    async def publish_deep_json(self, number: int) -> int:
        return await self.send("POST", "/v1/posts", data=DEEP)

    async def publish_without_key(self, number: int) -> int:
        return await self.send("POST", "/v1/posts", data=DEEP, headers=NO_KEY)

    async def validate_hostile_text(self, number: int) -> int:
        text = HOSTILE_TEXTS[number % len(HOSTILE_TEXTS)]
        return await self.send("POST", "/v1/posts/validate", json={"text": text, "accounts": self.accounts})

    async def guess_key(self, number: int) -> int:
        headers = {"Authorization": f"Bearer postino_{number:040}", "X-Forwarded-For": f"203.0.113.{number % 250}"}
        return await self.send("GET", "/v1/posts", headers=headers)

    async def guess_password(self, number: int) -> int:
        body = {"name": f"user{number % 3}", "password": f"correct horse {number}"}
        return await self.send("POST", "/v1/login", json=body, headers=NO_KEY)

    async def import_rows(self, number: int) -> int:
        """Check a file and save its posts."""
        rows = "\n".join(
            f"row {number}.{row},{self.accounts[row % len(self.accounts)]},2030-01-01T00:00:00Z"
            for row in range(IMPORTED_ROWS)
        )
        content = {"data": f"text,accounts,at\n{rows}", "headers": {"Content-Type": "text/csv"}}
        status, body = await self.ask("POST", "/v1/imports", **content)
        if status != 200:
            return status
        token = json.loads(body)["token"]
        return await self.send("POST", "/v1/imports", params={"commit": "true", "token": token})

    async def replay_events(self, number: int) -> int:
        """Read all events from the first, for at most a second."""
        status = 0
        try:
            async with (
                asyncio.timeout(1),
                self.session.get("/v1/events", params={"after": FIRST_EVENT}) as response,
            ):
                status = response.status
                await response.read()
        except (aiohttp.ClientError, TimeoutError):
            pass
        return status

    async def listen(self, statuses: Counter[int]) -> None:
        """Read events until the task is cancelled."""
        try:
            async with self.session.get("/v1/events", timeout=aiohttp.ClientTimeout(None)) as response:
                statuses[response.status] += 1
                async for _ in response.content:
                    pass
        except aiohttp.ClientError:
            statuses[0] += 1


# The statuses of responses from the code that a kind of attack is about, rather than from a check before it.
REACHED: Mapping[str, Collection[int]] = {
    "publish_missing_media": {202},
    "publish_on_hostile_servers": {202},
    "check_hostile_server": {200, 409, 502},
    "enqueue_unknown_types": {201},
    "enqueue_large_payloads": {201},
    "publish_large_text": {422},
    "publish_deep_json": {400},
    "publish_without_key": {401},
    "validate_hostile_text": {200},
    "guess_key": {401},
    "guess_password": {401, 429},
    "import_rows": {201},
    "replay_events": {200},
    "listen": {200},
}


async def run(options: dict[str, Any]) -> dict[str, Any]:
    """Attack for the given time; return the number of requests, and the CPU seconds of this process."""
    headers = {"Authorization": f"Bearer {options['key']}"}
    connector = aiohttp.TCPConnector(limit=0)
    statuses: defaultdict[str, Counter[int]] = defaultdict(Counter)
    async with (
        run_hostile_servers(options["ports"]),
        aiohttp.ClientSession(options["url"], headers=headers, connector=connector) as session,
    ):
        attacker = Attacker(session, options)
        kinds = options.get("kinds", [*REACHED])
        streams = [
            asyncio.create_task(attacker.listen(statuses["listen"])) for _ in range(STREAMS * ("listen" in kinds))
        ]
        until = time.monotonic() + options["seconds"]
        await asyncio.gather(
            *(repeat(getattr(attacker, kind), until, statuses[kind]) for kind in kinds if kind != "listen")
        )
        for stream in streams:
            stream.cancel()
        await asyncio.gather(*streams, return_exceptions=True)
    return summarise(statuses)


async def repeat(attack: Attack, until: float, statuses: Counter[int]) -> None:
    for number in itertools.count():
        if time.monotonic() >= until:
            return
        statuses[await attack(number)] += 1
        await asyncio.sleep(PAUSE)


def summarise(statuses: Mapping[str, Counter[int]]) -> dict[str, Any]:
    total = sum(statuses.values(), Counter())
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "requests": total.total(),
        "accepted": sum(count for status, count in total.items() if 200 <= status < 300),
        "server_errors": sum(count for status, count in total.items() if status >= 500),
        "unreached": [kind for kind, reached in REACHED.items() if not statuses[kind].keys() & {*reached}],
        "cpu": used.ru_utime + used.ru_stime,
    }


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(json.loads(sys.argv[1])))))
