"""The door outwards, for what the API asks of networks and the sandbox itself. Nothing visible leaves by it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from postino.provider import Account, Http, Provider
from postino.wiring import Postino, door_of

OpenDoor = Callable[[Provider, Account], Http]


def always() -> str | None:
    return None


@asynccontextmanager
async def outwards(app: Postino) -> AsyncIterator[OpenDoor]:
    patience = app.config.publishing.patience

    def open_door(network: Provider, account: Account) -> Http:
        secrets = frozenset(account.credentials.values())
        return door.open(timeout=network.timeout * patience, may_send=always, visible=False, secrets=secrets)

    async with door_of(app.config)() as door:
        yield open_door
