"""A machine that does not know the database joins where others work, and asks a person where it is alone."""

from collections.abc import Awaitable, Callable

import pytest

from postino.values.database import DatabaseAnswer
from tests.restore.drill import ASKABLE, SILENT, Drill

pytestmark = [pytest.mark.slow, pytest.mark.crash]

WEEKS = 24 * 7 * 3
OTHERS_WORKED = "UPDATE postino.database_state SET pulse = pulse + 60480"  # the pulses of three weeks


async def leave_for_weeks(drill: Drill) -> None:
    """Let others work for three weeks while this machine is off."""
    await drill.run(lambda: drill.place.move_back(WEEKS))
    await drill.run(lambda: drill.place.run(OTHERS_WORKED))


async def lose_state_directory(drill: Drill) -> None:
    drill.forget_machine("old")
    await drill.run(lambda: drill.place.move_back(12))


Absence = Callable[[Drill], Awaitable[None]]
ABSENCES: list[Absence] = [leave_for_weeks, lose_state_directory]


@pytest.mark.parametrize("be_absent", ABSENCES)
async def test_machine_that_missed_much_joins_where_another_works(drill: Drill, be_absent: Absence) -> None:
    async with drill.open() as site:
        await site.start("old")
        await site.expect_published_once(*await site.schedule(ASKABLE))
    await be_absent(drill)
    async with drill.open() as site:
        other = await site.start("other", trusts=True)
        await site.expect_published_once(*await site.schedule(ASKABLE))
        await site.start("old")
        await site.wait_for_heartbeats()
        await site.stop(other)
        await site.expect_published_once(*await site.schedule(ASKABLE, SILENT))
        await site.expect_no_question()


@pytest.mark.parametrize("be_absent", ABSENCES)
async def test_machine_that_missed_much_asks_where_it_is_alone(drill: Drill, be_absent: Absence) -> None:
    async with drill.open() as site:
        await site.start("old")
        await site.expect_published_once(*await site.schedule(ASKABLE))
        later = await site.schedule(ASKABLE, SILENT, hours=6)
    await be_absent(drill)
    async with drill.open() as site:
        await site.start("old")
        await site.wait_for_standing("asked", "stranger")
        await site.expect_nothing_sent(*later)
        await site.answer(DatabaseAnswer.MOVED)
        await site.expect_published_once(*later)


async def test_new_machine_joins_where_another_works(drill: Drill) -> None:
    async with drill.open() as site:
        old = await site.start("old")
        await site.expect_published_once(*await site.schedule(ASKABLE))
        await site.start("new")
        await site.wait_for_heartbeats()
        await site.stop(old)
        await site.expect_published_once(*await site.schedule(ASKABLE, SILENT))
        await site.expect_no_question()


async def test_new_machine_joins_within_two_minutes_although_nobody_lives(drill: Drill) -> None:
    """A container is replaced by another one."""
    async with drill.open() as site:
        await site.start("old")
        await site.expect_published_once(*await site.schedule(ASKABLE))
        await site.stop(*site.living)
        await site.start("new")
        await site.expect_published_once(*await site.schedule(ASKABLE, SILENT))
        await site.expect_no_question()


@pytest.mark.parametrize("answer", [DatabaseAnswer.MOVED, None])
async def test_new_machine_alone_asks_unless_it_trusts_the_database(
    drill: Drill, answer: DatabaseAnswer | None
) -> None:
    async with drill.open() as site:
        await site.start("old")
        await site.expect_published_once(*await site.schedule(ASKABLE))
        later = await site.schedule(ASKABLE, SILENT, hours=6)
    await drill.run(lambda: drill.place.move_back(12))
    async with drill.open() as site:
        await site.start("new", trusts=answer is None)
        if answer is not None:
            await site.wait_for_standing("asked", "stranger")
            await site.expect_nothing_sent(*later)
            await site.answer(answer)
        await site.expect_published_once(*later)


async def test_machine_that_knows_the_database_answers_for_a_stranger(drill: Drill) -> None:
    """A new machine starts first in the morning and asks; then the old one starts."""
    async with drill.open() as site:
        await site.start("old")
        await site.expect_published_once(*await site.schedule(ASKABLE))
        later = await site.schedule(ASKABLE, SILENT, hours=6)
    await drill.run(lambda: drill.place.move_back(12))
    async with drill.open() as site:
        await site.start("new")
        await site.wait_for_standing("asked", "stranger")
        await site.start("old")
        await site.expect_published_once(*later)
