"""The audit trail is one unbroken hash chain, and a change to any entry is found."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import structlog

from postino.auth import audit_trail
from postino.auth.audit_trail import AuditTrail
from postino.stores.audit import FIRST_HASH, AuditHead, compute_entry_hash
from postino.stores.records import AuditContext, AuditEntry
from postino.stores.store import Store
from postino.values.database import DatabaseAnswer
from postino.values.gate import Scope
from postino.vault.key_file import compute_key_id
from tests.adoption import adopt_database
from tests.audit_chain import find_broken_entry
from tests.contract.databases import Clock, Database
from tests.contract.harness import ME, StoreHarness


async def oldest_first(store: Store) -> list[AuditEntry]:
    return list(reversed(await store.audit(limit=1000)))


@pytest.fixture
async def trail(store: Store, clock: Clock) -> list[AuditEntry]:
    for number in range(5):
        await store.pause(Scope.BRAND, f"brand {number}", AuditContext("maria", "because è"))
        clock.turn(minutes=7)
    return await oldest_first(store)


async def test_untouched_audit_trail_verifies(trail: list[AuditEntry]) -> None:
    assert [line.seq for line in trail] == [1, 2, 3, 4, 5]
    assert find_broken_entry(trail) is None


async def test_newest_audit_entries_are_listed_first(store: Store, trail: list[AuditEntry]) -> None:
    assert list(await store.audit(limit=2)) == [trail[4], trail[3]]


@pytest.mark.parametrize(
    "change",
    ["actor = 'mario'", "action = 'gate.resumed'", "subject = 'brand:x'", "reason = ''", "detail = 'x'",
     "at = '2026-01-01T00:00:00.000000Z'", "hash = 'ff'"],
)  # fmt: skip
async def test_changed_audit_entry_is_found(
    store: Store, database: Database, trail: list[AuditEntry], change: str
) -> None:
    database.sql(f"UPDATE {{audit}} SET {change} WHERE seq = 3")
    broken = find_broken_entry(await oldest_first(store))
    assert broken is not None
    assert broken.seq == 3


async def test_missing_audit_entry_is_found_by_the_next_one(
    store: Store, database: Database, trail: list[AuditEntry]
) -> None:
    database.sql("DELETE FROM {audit} WHERE seq = 2")
    broken = find_broken_entry(await oldest_first(store))
    assert broken is not None
    assert broken.seq == 3


async def test_text_cannot_move_between_audit_fields_unnoticed(
    store: Store, database: Database, trail: list[AuditEntry]
) -> None:
    database.sql("UPDATE {audit} SET reason = 'because', detail = ' è' WHERE seq = 5")
    assert find_broken_entry(await oldest_first(store)) is not None


async def test_concurrent_actions_write_one_audit_chain(harness: StoreHarness) -> None:
    stores = [harness.store, await harness.open_another_store(), await harness.open_another_store()]
    await asyncio.gather(*(stores[turn % 3].pause(Scope.BRAND, str(turn), ME) for turn in range(30)))
    trail = await oldest_first(harness.store)
    assert [line.seq for line in trail] == list(range(1, 31))
    assert find_broken_entry(trail) is None


async def test_refused_action_leaves_no_audit_entry(harness: StoreHarness) -> None:
    with pytest.raises(LookupError):
        await harness.store.resume(Scope.BRAND, "never paused", ME)
    assert await harness.store.audit() == []
    assert await harness.events() == []


# Proofs and the anchor

KEYS = [bytes(range(32)), bytes(range(32, 64))]
FORGED = """
INSERT INTO {audit} (seq, at, actor, action, subject, reason, detail, hash, proof)
VALUES (NUMBER, '2026-01-01T00:00:00.000000Z', 'mallory', 'x', 'y', '', '', 'HASH', PROOF)
"""


@dataclass
class ProvenTrail:
    """A trail whose entries have proofs, on a database that a worker has used."""

    trail: AuditTrail
    store: Store
    database: Database
    keys: list[bytes]

    async def write(self, *names: str) -> None:
        for name in names:
            await self.store.pause(Scope.BRAND, name, ME)

    async def find_problem(self) -> str:
        report, _ = await self.trail.verify()
        return report.problem or ""

    async def rewrite(self, seq: int, *, proof: str | None = "kept") -> None:
        """Change an entry and compute all hashes from there on anew, as somebody without the key can."""
        self.database.sql(f"UPDATE {{audit}} SET actor = 'mallory' WHERE seq = {seq}")
        previous = FIRST_HASH
        for entry in await oldest_first(self.store):
            previous = compute_entry_hash(previous, entry)
            self.database.sql(f"UPDATE {{audit}} SET hash = '{previous}' WHERE seq = {entry.seq}")
        if proof != "kept":
            self.database.sql(f"UPDATE {{audit}} SET proof = NULL WHERE seq >= {seq}")


@pytest.fixture
async def proven(store: Store, database: Database, tmp_path: Path) -> AsyncIterator[ProvenTrail]:
    await adopt_database(store, "i" * 32, "e" * 32)
    keys = KEYS[:1]
    trail = make_trail(store, keys, tmp_path)
    proven = ProvenTrail(trail, store, database, keys)
    await proven.write("a", "b", "c", "d", "e")
    await trail.save()
    yield proven
    await trail.close()


def make_trail(store: Store, keys: list[bytes], state_dir: Path | None, where: str = "") -> AuditTrail:
    async def load_keys() -> None:
        """They are there."""

    return AuditTrail(store, lambda: keys, load_keys, state_dir, where)


async def test_proven_trail_verifies_and_its_head_is_anchored(proven: ProvenTrail) -> None:
    report, anchor = await proven.trail.verify()
    last = (await proven.store.audit(1))[0]
    assert (report.problem, report.entries, report.unproven) == (None, 5, 0)
    assert report.head == last.hash
    assert anchor == AuditHead(5, last.hash)
    assert (last.proof or "").startswith(compute_key_id(KEYS[0]) + ":")


async def test_rewritten_entry_with_right_hashes_is_found_by_its_proof(proven: ProvenTrail) -> None:
    await proven.rewrite(3)
    report, _ = await proven.trail.verify()
    assert (report.broken, report.entries) == (3, 2)
    assert "The proof of entry 3 is wrong" in (report.problem or "")


async def test_rewritten_tail_without_proofs_is_found(proven: ProvenTrail) -> None:
    await proven.rewrite(4, proof=None)
    assert "Entry 4 has no proof" in await proven.find_problem()


async def test_trail_rewritten_from_the_start_without_proofs_is_found(proven: ProvenTrail) -> None:
    await proven.rewrite(1, proof=None)
    assert "Entry 5 is not the one that this machine remembers" in await proven.find_problem()
    elsewhere = make_trail(proven.store, proven.keys, None)
    assert "No entry has a proof" in ((await elsewhere.verify())[0].problem or "")


async def test_removed_middle_is_found(proven: ProvenTrail) -> None:
    proven.database.sql("DELETE FROM {audit} WHERE seq = 3")
    assert "Entry 3 is missing" in await proven.find_problem()


async def test_removed_middle_with_new_numbers_and_hashes_is_found(proven: ProvenTrail) -> None:
    proven.database.sql("DELETE FROM {audit} WHERE seq = 3")
    for seq in (4, 5):
        proven.database.sql(f"UPDATE {{audit}} SET seq = {seq - 1} WHERE seq = {seq}")
    await proven.rewrite(4)
    assert "The proof of entry 3 is wrong" in await proven.find_problem()


@pytest.mark.parametrize("left", [0, 1, 4])
async def test_cut_off_tail_is_found_by_the_anchor(proven: ProvenTrail, left: int) -> None:
    proven.database.sql(f"DELETE FROM {{audit}} WHERE seq > {left}")
    report, _ = await proven.trail.verify()
    assert report.broken == left + 1
    assert f"ends with entry {left}, and this machine remembers entry 5" in (report.problem or "")


async def test_rolled_back_trail_that_grows_again_stays_found(proven: ProvenTrail) -> None:
    """The anchor keeps the entry that is lost, also after the trail is as long again."""
    proven.database.sql("DELETE FROM {audit} WHERE seq > 3")
    with structlog.testing.capture_logs() as logs:
        await proven.write("f", "g", "h")
        await proven.trail.save()
        await proven.write("i")
        await proven.trail.save()
    assert [entry["event"] for entry in logs if entry["log_level"] == "error"] == ["audit.diverged"]
    assert "Entry 5 is not the one that this machine remembers" in await proven.find_problem()


@pytest.mark.parametrize("proof", ["NULL", "'unknown:00'", f"'{compute_key_id(KEYS[0])}:00'", "''", "'è'"])
async def test_entry_that_somebody_without_the_key_appends_is_found(proven: ProvenTrail, proof: str) -> None:
    last = (await proven.store.audit(1))[0]
    values = {"NUMBER": "6", "PROOF": proof, "HASH": "0"}
    text = FORGED
    for name, value in values.items():
        text = text.replace(name, value)
    proven.database.sql(text)
    forged = (await proven.store.audit(1))[0]
    hashed = compute_entry_hash(last.hash, forged)
    proven.database.sql(f"UPDATE {{audit}} SET hash = '{hashed}' WHERE seq = 6")
    await proven.write("after")
    report, _ = await proven.trail.verify()
    assert report.broken == 6
    assert "6" in (report.problem or "")


async def test_copied_proof_proves_no_other_entry(proven: ProvenTrail) -> None:
    await proven.rewrite(5)
    proven.database.sql("UPDATE {audit} SET proof = (SELECT proof FROM {audit} WHERE seq = 4) WHERE seq = 5")
    assert "The proof of entry 5 is wrong" in await proven.find_problem()


async def test_entries_from_before_the_key_are_counted_and_covered_by_the_first_proof(
    store: Store, database: Database
) -> None:
    await store.pause(Scope.BRAND, "early", ME)
    trail = make_trail(store, KEYS[:1], None)
    await store.pause(Scope.BRAND, "later", ME)
    report, _ = await trail.verify()
    assert (report.problem, report.entries, report.unproven) == (None, 2, 1)
    proven = ProvenTrail(trail, store, database, KEYS[:1])
    await proven.rewrite(1)
    assert "The proof of entry 2 is wrong" in await proven.find_problem()


async def test_rotated_key_proves_new_entries_and_the_old_one_its_own(proven: ProvenTrail) -> None:
    proven.keys.append(KEYS[1])
    await proven.write("rotated")
    assert await proven.find_problem() == ""
    ids = [(entry.proof or "").partition(":")[0] for entry in await oldest_first(proven.store)]
    assert ids == [compute_key_id(KEYS[0])] * 5 + [compute_key_id(KEYS[1])]


async def test_entries_of_a_lost_key_stay_covered_by_later_proofs(proven: ProvenTrail) -> None:
    """After `vault reset` nobody can check the old proofs, but the first new one covers all entries before it."""
    proven.keys[:] = KEYS[1:]
    await proven.write("reset")
    report, _ = await proven.trail.verify()
    assert (report.problem, report.unproven) == (None, 5)
    await proven.rewrite(2)
    elsewhere = make_trail(proven.store, proven.keys, None)
    assert "The proof of entry 6 is wrong" in ((await elsewhere.verify())[0].problem or "")


async def test_key_is_loaded_when_the_first_entry_needs_it(store: Store) -> None:
    keys, loads = list[bytes](), list[int]()

    async def load_keys() -> None:
        loads.append(len(keys))
        keys[:] = KEYS[:1]

    AuditTrail(store, lambda: keys, load_keys, None)
    await store.heartbeat("nobody")
    assert loads == []
    for name in ("a", "b", "c"):
        await store.pause(Scope.BRAND, name, ME)
    assert loads == [0]
    assert all(entry.proof for entry in await store.audit())


async def test_close_saves_what_a_cancelled_save_had_begun(
    proven: ProvenTrail, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = asyncio.Event()
    find = proven.trail.find_anchor_path

    async def find_slowly() -> Path | None:
        if not reading.is_set():
            reading.set()
            await asyncio.Event().wait()
        return await find()

    monkeypatch.setattr(proven.trail, "find_anchor_path", find_slowly)
    monkeypatch.setattr(audit_trail, "SAVE_AFTER", 0.0)
    await proven.write("f")
    await reading.wait()
    await proven.trail.close()
    _, anchor = await proven.trail.verify()
    assert anchor is not None
    assert anchor.seq == 6


async def test_refused_action_moves_no_anchor(proven: ProvenTrail) -> None:
    with pytest.raises(LookupError):
        await proven.store.resume(Scope.BRAND, "never paused", ME)
    assert proven.trail.head is None


async def test_concurrent_processes_keep_the_latest_anchor(harness: StoreHarness, tmp_path: Path) -> None:
    await adopt_database(harness.store, "i" * 32, "e" * 32)
    stores = [harness.store, await harness.open_another_store(), await harness.open_another_store()]
    trails = [make_trail(store, KEYS[:1], tmp_path) for store in stores]

    async def act(turn: int) -> None:
        await stores[turn % 3].pause(Scope.BRAND, str(turn), ME)
        await trails[turn % 3].save()

    await asyncio.gather(*(act(turn) for turn in range(12)))
    report, anchor = await trails[0].verify()
    assert (report.problem, report.entries) == (None, 12)
    assert anchor == AuditHead(12, report.head or "")
    for trail in trails:
        await trail.close()


@pytest.mark.parametrize("content", [b"", b"postino audit 1 5 x\n", b"\xff" * 300])
async def test_damaged_anchor_is_reported_and_kept(proven: ProvenTrail, content: bytes) -> None:
    path = await proven.trail.find_anchor_path()
    assert path is not None
    path.write_bytes(content)
    report, anchor = await proven.trail.verify()
    assert (report.broken, report.entries, anchor) == (None, 5, None)
    assert "is damaged" in (report.problem or "")
    with structlog.testing.capture_logs() as logs:
        await proven.write("z")
        await proven.trail.save()
    assert [entry["event"] for entry in logs] == ["audit.anchor_unavailable"]
    assert path.read_bytes() == content


async def test_no_identity_that_the_database_gives_itself_hides_a_cut(proven: ProvenTrail) -> None:
    proven.database.sql("DELETE FROM {audit} WHERE seq > 3")
    proven.database.sql("UPDATE {database_state} SET installation = 'other', era = 'new'")
    assert "ends with entry 3, and this machine remembers entry 5" in await proven.find_problem()
    proven.database.sql("DELETE FROM {audit}")
    await proven.write("f", "g", "h", "i", "j", "k")
    await proven.trail.save()
    assert "Entry 5 is not the one that this machine remembers" in await proven.find_problem()


async def restore(proven: ProvenTrail, clock: Clock, left: int) -> None:
    """Put an older database back, and say so."""
    proven.database.sql(f"DELETE FROM {{audit}} WHERE seq > {left}")
    clock.turn(minutes=1)
    await proven.store.accept_database(DatabaseAnswer.RESTORED, None, "i" * 32, "f" * 32, ME)


async def test_restored_trail_verifies_once_a_person_has_said_so(proven: ProvenTrail, clock: Clock) -> None:
    await restore(proven, clock, 3)
    assert await proven.find_problem() == ""
    await proven.trail.save()
    report, anchor = await proven.trail.verify()
    assert (report.problem, report.entries) == (None, 4)
    assert anchor == AuditHead(4, report.head or "")


async def test_answer_excuses_no_later_loss(proven: ProvenTrail, clock: Clock) -> None:
    await restore(proven, clock, 3)
    clock.turn(minutes=1)
    await proven.write("f", "g")
    await proven.trail.save()
    proven.database.sql("DELETE FROM {audit} WHERE seq > 4")
    assert "ends with entry 4, and this machine remembers entry 6" in await proven.find_problem()


async def test_forged_answer_excuses_no_loss(proven: ProvenTrail, clock: Clock) -> None:
    proven.database.sql("DELETE FROM {audit} WHERE seq > 4")
    clock.turn(minutes=1)
    now = (await proven.store.now()).isoformat()
    proven.database.sql(f"UPDATE {{audit}} SET action = 'database.restored', at = '{now}' WHERE seq = 4")
    assert await proven.find_problem()
    await proven.write("f")
    await proven.trail.save()
    proven.database.sql("DELETE FROM {audit} WHERE seq > 3")
    assert "this machine remembers entry 5" in await proven.find_problem()


async def test_file_of_the_anchor_depends_on_the_key_and_the_place(store: Store, tmp_path: Path) -> None:
    paths = set()
    for key, where in [(KEYS[0], "/a.db"), (KEYS[1], "/a.db"), (KEYS[0], "../../../etc/passwd"), (KEYS[0], "\udcff")]:
        trail = make_trail(store, [key], tmp_path / "state", where)
        path = await trail.find_anchor_path()
        assert path is not None
        assert (path.parent, path.name.isalnum()) == (tmp_path / "state" / "audit", True)
        paths.add(path)
    assert len(paths) == 4


async def test_file_and_folder_of_the_anchor_are_private(proven: ProvenTrail) -> None:
    path = await proven.trail.find_anchor_path()
    assert path is not None
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
