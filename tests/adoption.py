"""What the first worker does to a new database."""

from postino.stores.store import Store


async def adopt_database(store: Store, installation: str, era: str) -> None:
    """Take a new database as it is and where it is."""
    assert await store.adopt_database(await store.database_state(), installation, era)
