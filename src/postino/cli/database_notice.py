"""Say on the terminal that nothing is sent from the database, once for each cause."""

import asyncio
import re
from collections.abc import Awaitable, Callable

from postino.cli import output
from postino.cli.connection import Target
from postino.errors import StoreError
from postino.rules.restore import advise_answer
from postino.values.database import DatabaseState, Standing

INTERVAL = 2.0  # seconds
COMMAND = re.compile(r"`postino ([^`]+)`")


async def watch_database(
    read_state: Callable[[], Awaitable[DatabaseState]], target: Target, interval: float = INTERVAL
) -> None:
    """Print when the database closes and why, and when it opens again. Runs until it is cancelled."""
    printed = ""
    while True:
        try:
            notice = describe_standing(await read_state(), target)
        except StoreError:  # workers log that the database is unreachable
            notice = printed
        except Exception as error:  # noqa: BLE001 - any failure: it looks again
            notice = f"Postino cannot see whether workers send from this database, and looks again: {error}"
        if notice != printed:
            output.print_hint(notice or "The database is open again: workers send from it.")
            printed = notice
        await asyncio.sleep(interval)


def describe_standing(state: DatabaseState, target: Target) -> str:
    """Say why nothing is sent, and which command of this queue answers it; empty if the database is open."""
    if state.standing is Standing.OPEN:
        return ""
    advice = COMMAND.sub(lambda match: f"`{target.format_command(match[1])}`", advise_answer(state) or "")
    return f"Nothing is sent from this database. {state.reason} {advice}"
