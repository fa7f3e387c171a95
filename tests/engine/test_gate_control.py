"""Gates by hand: wrong arguments are refused with their field, and nothing is saved."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postino import Postino
from postino.engine import gate_control as gate_control_module
from postino.engine.gate_control import GateControl
from postino.errors import Conflict, NotFound, WrongUse
from postino.rules.circuit_breaker import CircuitState
from postino.values.gate import GateKind, Scope
from postino.values.job import new_id

NIGHT = {"scope": "all", "start": "22:00", "end": "07:00", "timezone": "Europe/Rome"}
WHY: dict[str, Any] = {"reason": "they said so", "actor": "maria"}


@pytest.fixture
def wakeups() -> list[str]:
    return []


@pytest.fixture
def gate_control(app: Postino, wakeups: list[str]) -> GateControl:
    return GateControl(app.store, lambda: wakeups.append("woken"), services=app.channel_limits.circuits)


async def last_audit(app: Postino) -> tuple[str, str, str, str]:
    line = (await app.store.audit(1))[0]
    return line.actor, line.action, line.subject, line.reason


# Circuits


async def test_circuit_is_opened_closed_and_reset_by_hand(
    app: Postino, gate_control: GateControl, wakeups: list[str]
) -> None:
    opened = await gate_control.open_circuit("instagram", seconds=600, **WHY)
    assert (opened.state, opened.manual, opened.reason) == (CircuitState.OPEN, True, "they said so")
    assert opened.since_at is not None
    assert opened.until_at is not None
    assert timedelta(seconds=599) < opened.until_at - opened.since_at <= timedelta(seconds=600)
    assert await last_audit(app) == ("maria", "circuit.opened", "circuit:instagram", "they said so")
    assert [(gate.name, gate.kind) for gate in (await gate_control.queues()).closed.gates] == [
        ("instagram", GateKind.BREAKER)
    ]
    assert (await gate_control.close_circuit("instagram", **WHY)).state is CircuitState.CLOSED
    assert (await gate_control.queues()).closed.gates == ()
    assert (await gate_control.reset_circuit("instagram", **WHY)).since_at is None
    assert [breaker.service for breaker in await gate_control.circuits()] == ["instagram"]
    assert wakeups == ["woken"] * 3


async def test_expired_opening_is_half_open(app: Postino, gate_control: GateControl) -> None:
    await gate_control.open_circuit("instagram", seconds=0.001, **WHY)
    [breaker] = await gate_control.circuits()
    assert breaker.state is CircuitState.HALF_OPEN
    assert (await gate_control.queues()).closed.caps["instagram"] == 1


async def test_circuit_opened_without_a_time_stays_open(gate_control: GateControl) -> None:
    assert (await gate_control.open_circuit("openai", **WHY)).until_at is None


@pytest.mark.parametrize(
    ("service", "more", "field", "words"),
    [
        ("instagrm", {}, "service", "Did you mean instagram?"),
        ("", {}, "service", "1 to 500"),
        ("x\x00", {}, "service", "without NUL"),
        ("instagram", {"reason": " "}, "reason", "give a reason"),
        ("instagram", {"reason": "\ud83d"}, "reason", "a text without NUL or unpaired surrogates"),
        ("instagram", {"seconds": 0}, "seconds", "not 0"),
        ("instagram", {"seconds": -5}, "seconds", "not -5"),
        ("instagram", {"seconds": float("nan")}, "seconds", "not nan"),
        ("instagram", {"seconds": 1e12}, "seconds", "not 1000000000000.0"),
        ("instagram", {"until_at": datetime(2020, 1, 1, tzinfo=UTC)}, "until", "is in the past"),
        ("instagram", {"until_at": datetime(2040, 1, 1)}, "until", "time zone"),  # noqa: DTZ001 - that is what is wrong
        ("instagram", {"until_at": datetime(2040, 1, 1, tzinfo=UTC), "seconds": 1}, "seconds", "not both"),
    ],
)
async def test_wrong_opening_names_its_field_and_changes_nothing(
    gate_control: GateControl, wakeups: list[str], service: str, more: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(WrongUse) as refused:
        await gate_control.open_circuit(service, **{**WHY, **more})
    assert (refused.value.field, words in str(refused.value)) == (field, True), str(refused.value)
    assert (await gate_control.circuits(), wakeups) == ([], [])


async def test_channel_of_a_past_job_is_a_service(app: Postino, gate_control: GateControl) -> None:
    await app.cancel((await app.enqueue("report.daily")).id)
    assert (await gate_control.open_circuit("report.daily", **WHY)).state is CircuitState.OPEN


async def test_unknown_circuit_cannot_be_closed_or_reset(gate_control: GateControl) -> None:
    for deed in (gate_control.close_circuit, gate_control.reset_circuit):
        with pytest.raises(NotFound, match="it never failed and was never opened"):
            await deed("instagram", **WHY)
        with pytest.raises(WrongUse, match="give a reason"):
            await deed("instagram", reason="")


# Pauses and cooldowns


async def test_everything_can_be_paused_and_resumed(app: Postino, gate_control: GateControl) -> None:
    await gate_control.pause(Scope.ALL, "", **WHY)
    assert (await gate_control.queues()).closed.everything is not None
    await gate_control.resume(Scope.ALL, "", **WHY)
    assert (await gate_control.queues()).closed.everything is None
    with pytest.raises(NotFound, match="The whole queue is not paused"):
        await gate_control.resume(Scope.ALL, "")


@pytest.mark.parametrize("scope", [Scope.ACCOUNT, Scope.CHANNEL])
async def test_cooldown_is_listed_and_ended_by_hand(app: Postino, gate_control: GateControl, scope: Scope) -> None:
    await app.store.start_cooldown(scope, "it", None, "too many")
    [gate] = (await gate_control.queues()).closed.gates
    assert (gate.scope, gate.name, gate.kind, gate.reason) == (scope, "it", GateKind.COOLDOWN, "too many")
    await gate_control.end_cooldown(scope, "it", **WHY)
    assert await last_audit(app) == ("maria", "gate.resumed", f"{scope}:it", "they said so")
    assert (await gate_control.queues()).closed.gates == ()
    with pytest.raises(NotFound, match="not cooling down"):
        await gate_control.end_cooldown(scope, "it")


async def test_brands_and_queues_have_no_cooldown(gate_control: GateControl) -> None:
    with pytest.raises(WrongUse, match="only an account or a channel"):
        await gate_control.end_cooldown(Scope.BRAND, "b")


# Blackouts


async def test_blackout_is_saved_listed_and_removed(
    app: Postino, gate_control: GateControl, wakeups: list[str]
) -> None:
    added = await gate_control.add_blackout(NIGHT | {"reason": "sleep"}, actor="maria")
    assert await gate_control.blackouts() == [added]
    assert await last_audit(app) == ("maria", "blackout.added", f"blackout:{added.id}", "sleep")
    assert await gate_control.remove_blackout(added.id, **WHY) == added
    assert await last_audit(app) == ("maria", "blackout.removed", f"blackout:{added.id}", "they said so")
    assert await gate_control.blackouts() == []
    assert wakeups == ["woken"] * 2
    with pytest.raises(NotFound, match=r"Blackout .* does not exist"):
        await gate_control.remove_blackout(new_id())


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"timezone": "Europe/Rom"}, "timezone", "Did you mean Europe/Rome?"),
        ({"start": "25:00"}, "start", "'25:00'"),
        ({"end": None}, "end", "is missing"),
        ({"days": [7]}, "days", "7"),
        ({"scope": "planet"}, "scope", "'planet'"),
        ({"scope": "channel", "channel": "instagrm"}, "channel", "'instagrm'. Did you mean instagram?"),
        ({"scope": "channel", "channel": "zzz"}, "channel", "Use one of: bluesky, "),
        ({"scope": "account", "account": "bluesky:bruna"}, "account", "Did you mean bluesky:bruno?"),
        ({"scope": "brand"}, "brand", "is missing"),
        ({"colour": "red"}, "colour", "no field 'colour'"),
    ],
)
async def test_wrong_blackout_names_its_field_and_is_not_saved(
    app: Postino, gate_control: GateControl, wakeups: list[str], change: dict[str, Any], field: str, words: str
) -> None:
    await app.accounts.add("bluesky", "bruno", {"password": "x"})
    with pytest.raises(WrongUse) as refused:
        await gate_control.add_blackout(NIGHT | change)
    assert (refused.value.field, words in str(refused.value)) == (field, True), str(refused.value)
    assert (await gate_control.blackouts(), wakeups) == ([], [])


async def test_accounts_and_channels_of_past_jobs_can_have_blackouts(app: Postino, gate_control: GateControl) -> None:
    await app.enqueue("report.daily", account="acme")
    await gate_control.add_blackout(NIGHT | {"scope": "channel", "channel": "report.daily"})
    await gate_control.add_blackout(NIGHT | {"scope": "account", "account": "acme"})
    assert len(await gate_control.blackouts()) == 2


async def test_same_blackout_twice_is_a_conflict(gate_control: GateControl) -> None:
    first = await gate_control.add_blackout(NIGHT)
    with pytest.raises(Conflict, match=str(first.id)):
        await gate_control.add_blackout(NIGHT | {"reason": "again"})
    await gate_control.add_blackout(NIGHT | {"start": "21:00"})


async def test_blackout_preview_lists_delays_and_saves_nothing(app: Postino, gate_control: GateControl) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=2)).replace(hour=0, minute=0, second=0, microsecond=0)
    day = {"timezone": "UTC", "scope": "brand", "brand": "acme"}
    await gate_control.add_blackout(day | {"start": "12:00", "end": "13:00"})
    fields: dict[str, Any] = {"account": "a", "brand": "acme"}
    await app.enqueue("t", at=tomorrow + timedelta(hours=9), **fields)
    moved = await app.enqueue("t", at=tomorrow + timedelta(hours=10), **fields)
    await app.enqueue("t", at=tomorrow + timedelta(hours=10), account="b", brand="other")
    done = await app.enqueue("t", at=tomorrow + timedelta(hours=11), **fields)
    await app.cancel(done.id)
    blackout = await gate_control.draft_blackout(day | {"start": "10:00", "end": "12:00"})
    shifts = await gate_control.preview_blackout(blackout)
    [shift] = shifts.first
    assert (shift.job_id, shift.channel, shift.account) == (moved.id, "t", "a")
    assert (shift.goes_at, shift.moves_to) == (tomorrow + timedelta(hours=10), tomorrow + timedelta(hours=13))
    assert (shifts.more, shifts.complete) == (0, True)
    assert blackout not in await gate_control.blackouts()
    await gate_control.save_blackout(blackout)
    assert await gate_control.preview_blackout(blackout) == shifts, "what is saved already is not counted twice"


async def test_long_preview_shows_the_soonest_and_counts_the_rest(
    app: Postino, gate_control: GateControl, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = datetime.now(UTC) + timedelta(days=1)
    jobs = await app.enqueue_many([{"type": "t", "at": start - timedelta(minutes=number)} for number in range(9)])
    monkeypatch.setattr(gate_control_module, "PAGE", 2)
    monkeypatch.setattr(gate_control_module, "MAX_SHIFTS", 3)
    blackout = await gate_control.draft_blackout({"scope": "all", "start": "00:00", "end": "00:00", "timezone": "UTC"})
    shifts = await gate_control.preview_blackout(blackout)
    assert [shift.job_id for shift in shifts.first] == [job.id for job in reversed(jobs)][:3]
    assert {shift.moves_to for shift in shifts.first} == {None}
    assert (shifts.more, shifts.complete) == (6, True)
    monkeypatch.setattr(gate_control_module, "MAX_EXAMINED", 4)
    shifts = await gate_control.preview_blackout(replace(blackout, id=new_id()))
    assert (len(shifts.first) + shifts.more, shifts.complete) == (4, False)


async def test_every_closed_gate_is_listed_with_its_kind(app: Postino, gate_control: GateControl) -> None:
    await app.enqueue("t", at=datetime.now(UTC) + timedelta(days=1))
    await gate_control.pause(Scope.QUEUE, "low")
    await app.store.start_cooldown(Scope.ACCOUNT, "a", None, "too many")
    await gate_control.open_circuit("instagram", **WHY)
    await gate_control.add_blackout({"scope": "all", "start": "00:00", "end": "00:00", "timezone": "UTC"})
    await app.cap("bluesky", 7)
    queues = await gate_control.queues()
    assert {gate.kind for gate in queues.closed.gates} == {
        GateKind.PAUSE, GateKind.COOLDOWN, GateKind.BREAKER, GateKind.BLACKOUT,
    }  # fmt: skip
    assert queues.closed.caps["bluesky"] == 7
    assert [(line.channel, line.queue.label, line.pending, line.running) for line in queues.lines] == [
        ("t", "default", 1, 0)
    ]
