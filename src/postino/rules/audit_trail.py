"""Decide whether an audit trail is complete and unchanged, one entry after the other.

Three things must hold: each hash follows from the entry and the hash before it; from the first proof of a known key on,
each entry has one; and the entry that this machine remembers is where it was.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CheckedEntry:
    """What is known about one entry. `is_proven` is None if it has no proof, or one of a key that is not here."""

    seq: int
    hash: str
    expected_hash: str
    is_proven: bool | None
    has_proof: bool


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The state of a trail after some of its entries. `broken` is the first entry that is wrong, and `problem` why."""

    entries: int = 0
    head: str | None = None  # the hash of the last entry
    unproven: int = 0  # entries before the first proof
    broken: int | None = None
    problem: str | None = None


def check_entry(report: AuditReport, entry: CheckedEntry, anchor: tuple[int, str] | None) -> AuditReport:
    """Return the report with one more entry."""
    has_proofs = report.entries > report.unproven
    problem = None
    if entry.seq != report.entries + 1:
        problem = f"Entry {report.entries + 1} is missing."
    elif entry.hash != entry.expected_hash:
        problem = f"Entry {entry.seq} was changed, or the entry before it was."
    elif entry.is_proven is False:
        problem = f"The proof of entry {entry.seq} is wrong: somebody without the vault key wrote it."
    elif entry.is_proven is None and has_proofs:
        lacks = "has a proof of a vault key that this process does not have" if entry.has_proof else "has no proof"
        problem = f"Entry {entry.seq} {lacks}: somebody, or a process, without the vault key wrote it."
    elif anchor is not None and anchor[0] == entry.seq and anchor[1] != entry.hash:
        problem = f"Entry {entry.seq} is not the one that this machine remembers: the trail was rewritten or restored."
    unproven = report.unproven + (entry.is_proven is None and not has_proofs)
    if problem is not None:
        return AuditReport(report.entries, report.head, report.unproven, entry.seq, problem)
    return AuditReport(entry.seq, entry.hash, unproven)


def end_check(report: AuditReport, anchor: tuple[int, str] | None, *, has_keys: bool) -> AuditReport:
    """Return the report after the last entry."""
    problem, broken = report.problem, report.broken
    if problem is None and anchor is not None and anchor[0] > report.entries:
        broken = report.entries + 1
        problem = (
            f"The trail ends with entry {report.entries}, and this machine remembers entry {anchor[0]}: the end was cut"
            " off, or an older database was put back."
        )
    elif problem is None and has_keys and report.entries and report.unproven == report.entries:
        broken, problem = 1, "No entry has a proof of a vault key that this process has."
    return AuditReport(report.entries, report.head, report.unproven, broken, problem)
