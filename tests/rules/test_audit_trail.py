"""A trail is verified entry by entry, and the first entry that is wrong is named."""

from __future__ import annotations

import pytest

from postino.rules.audit_trail import AuditReport, CheckedEntry, check_entry, end_check

PROVEN, OLD, OTHER_KEY, WRONG = (True, True), (None, False), (None, True), (False, True)
Proof = tuple[bool | None, bool]


def verify(
    proofs: list[Proof], *, first: int = 1, anchor: tuple[int, str] | None = None, has_keys: bool = True
) -> AuditReport:
    """Verify a trail whose hashes are `h1`, `h2` and so on."""
    report = AuditReport()
    for seq, (is_proven, has_proof) in enumerate(proofs, first):
        report = check_entry(report, CheckedEntry(seq, f"h{seq}", f"h{seq}", is_proven, has_proof), anchor)
        if report.problem is not None:
            break
    return end_check(report, anchor, has_keys=has_keys)


@pytest.mark.parametrize(
    ("proofs", "unproven"),
    [([], 0), ([PROVEN], 0), ([PROVEN] * 3, 0), ([OLD, OLD, PROVEN], 2), ([OTHER_KEY, OLD, PROVEN, PROVEN], 2)],
)
def test_trail_whose_later_entries_are_all_proven_is_intact(proofs: list[Proof], unproven: int) -> None:
    report = verify(proofs)
    assert (report.problem, report.broken, report.unproven, report.entries) == (None, None, unproven, len(proofs))


@pytest.mark.parametrize(
    ("proofs", "broken"),
    [
        ([PROVEN, OLD, PROVEN], 2),
        ([PROVEN, OTHER_KEY], 2),
        ([OLD, WRONG, PROVEN], 2),
        ([WRONG], 1),
        ([OLD, OLD], 1),
        ([OTHER_KEY], 1),
    ],
)
def test_entry_that_nobody_with_the_key_wrote_is_named(proofs: list[Proof], broken: int) -> None:
    report = verify(proofs)
    assert report.problem is not None
    assert report.broken == broken


def test_database_without_vault_key_has_no_proofs() -> None:
    assert verify([OLD, OLD], has_keys=False).problem is None


@pytest.mark.parametrize(
    ("anchor", "broken"),
    [((1, "h1"), None), ((3, "h3"), None), ((3, "other"), 3), ((1, "other"), 1), ((4, "h4"), 4), ((9, "h9"), 4)],
)
def test_remembered_entry_must_be_where_it_was(anchor: tuple[int, str], broken: int | None) -> None:
    report = verify([PROVEN] * 3, anchor=anchor)
    assert (report.broken, report.problem is None) == (broken, broken is None)


def test_trail_without_its_first_entry_is_broken() -> None:
    report = verify([PROVEN] * 2, first=2)
    assert (report.broken, report.problem) == (2, "Entry 1 is missing.")


def test_empty_trail_is_broken_if_an_entry_is_remembered() -> None:
    assert verify([], anchor=(1, "h1")).broken == 1


def test_wrong_hash_is_named() -> None:
    report = check_entry(AuditReport(), CheckedEntry(1, "h1", "other", True, True), None)
    assert (report.broken, report.problem) == (1, "Entry 1 was changed, or the entry before it was.")
