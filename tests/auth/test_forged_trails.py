"""Whatever somebody without the vault key does to the trail in the database, the verification reports it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from postino.rules.audit_trail import AuditReport, CheckedEntry, check_entry, end_check
from postino.stores.audit import FIRST_HASH, compute_entry_hash
from postino.stores.records import AuditEntry
from postino.vault.audit_proofs import AuditProofs, make_proof

KEY, OTHER_KEY = bytes(range(32)), bytes(range(32, 64))
PROOFS = AuditProofs(lambda: [KEY])
START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Forgery:
    """What becomes of one entry: copied from another, changed, with new numbers, hashes and proofs of somebody else."""

    source: int
    is_changed: bool
    is_renumbered: bool
    is_rehashed: bool
    proof: int | None  # that of another entry; -1: its own; -2: made with another key; None: removed


FORGERIES = st.lists(
    st.builds(
        Forgery,
        source=st.integers(0, 5),
        is_changed=st.booleans(),
        is_renumbered=st.booleans(),
        is_rehashed=st.booleans(),
        proof=st.one_of(st.none(), st.integers(-2, 5)),
    ),
    max_size=8,
)


def make_trail(length: int, unproven: int) -> list[AuditEntry]:
    """Return a trail as Postino writes it; its first entries are from before the key."""
    entries: list[AuditEntry] = []
    for seq in range(1, length + 1):
        at, text = START + timedelta(minutes=seq), f"act {seq}"
        entry = AuditEntry(
            seq=seq, at=at, actor="ada", action=text, subject="x", reason="", detail="", hash="", proof=None
        )
        hashed = compute_entry_hash(entries[-1].hash if entries else FIRST_HASH, entry)
        entries.append(replace(entry, hash=hashed, proof=PROOFS.make(hashed) if seq > unproven else None))
    return entries


def forge(trail: Sequence[AuditEntry], forgeries: Sequence[Forgery]) -> list[AuditEntry]:
    forged: list[AuditEntry] = []
    for number, it in enumerate(forgeries, 1):
        entry = trail[it.source % len(trail)]
        if it.is_changed:
            entry = replace(entry, actor="mallory")
        if it.is_renumbered:
            entry = replace(entry, seq=number)
        if it.is_rehashed:
            entry = replace(entry, hash=compute_entry_hash(forged[-1].hash if forged else FIRST_HASH, entry))
        if it.proof is None:
            entry = replace(entry, proof=None)
        elif it.proof == -2:
            entry = replace(entry, proof=make_proof(OTHER_KEY, entry.hash))
        elif it.proof >= 0:
            entry = replace(entry, proof=trail[it.proof % len(trail)].proof)
        forged.append(entry)
    return forged


def remove_proofs(entries: Sequence[AuditEntry]) -> list[AuditEntry]:
    """Return what entries say. Proofs that the first entries have lost change nothing: the next proof covers them."""
    return [replace(entry, proof=None) for entry in entries]


def verify(entries: Sequence[AuditEntry], anchor: tuple[int, str] | None) -> AuditReport:
    report = AuditReport()
    for entry in entries:
        proven = None if entry.proof is None else PROOFS.check(entry.hash, entry.proof)
        expected = compute_entry_hash(report.head or FIRST_HASH, entry)
        checked = CheckedEntry(entry.seq, entry.hash, expected, proven, entry.proof is not None)
        report = check_entry(report, checked, anchor)
        if report.problem is not None:
            break
    return end_check(report, anchor, has_keys=True)


@given(st.integers(1, 6), st.integers(0, 3), st.integers(0, 2))
def test_trail_as_postino_writes_it_verifies(length: int, unproven: int, behind: int) -> None:
    trail = make_trail(length, min(unproven, length - 1))
    last = trail[max(0, length - 1 - behind)]  # the anchor is written a moment later
    assert verify(trail, (last.seq, last.hash)).problem is None


@given(FORGERIES, st.integers(1, 6))
def test_forged_trail_never_verifies_where_its_end_is_remembered(forgeries: list[Forgery], length: int) -> None:
    trail = make_trail(length, 0)
    forged = forge(trail, forgeries)
    if verify(forged, (length, trail[-1].hash)).problem is None:
        assert remove_proofs(forged) == remove_proofs(trail)


@given(FORGERIES, st.integers(1, 6))
def test_without_a_remembered_end_only_a_cut_goes_unnoticed(forgeries: list[Forgery], length: int) -> None:
    trail = make_trail(length, 0)
    forged = forge(trail, forgeries)
    if verify(forged, None).problem is None:
        assert remove_proofs(forged) == remove_proofs(trail[: len(forged)])


@given(st.integers(2, 6), st.data())
def test_cut_trail_verifies_only_without_a_remembered_end(length: int, data: st.DataObject) -> None:
    trail = make_trail(length, 0)
    left = trail[: data.draw(st.integers(0, length - 1))]
    assert verify(left, None).problem is None
    assert verify(left, (length, trail[-1].hash)).broken == len(left) + 1
