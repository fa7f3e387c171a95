"""What a server answers as the id of a post is stored only if the post can be found by it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from postino.rules.ledger import LookUpAgain, UncertainStep, decide_after_lookup
from postino.rules.receipt_checks import MAX_DATA, MAX_ID_BYTES, MAX_SCOPE_BYTES, MAX_URL, check_receipt
from postino.values.ledger import IntentEntry
from postino.values.provider import NEVER, CannotTell, Found, Receipt

NOW = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
GOOD = Receipt(remote_id="1", url="https://there/1", data={"message_ids": [1, 2]}, id_scope="@bakery 7")


@pytest.mark.parametrize(
    "remote_id", ["1", "at://did:plc:x/app.bsky.feed.post/3k", "x" * MAX_ID_BYTES, "a\0b", "\ud800"]
)
def test_ordinary_and_odd_ids_are_kept(remote_id: str) -> None:
    receipt = replace(GOOD, remote_id=remote_id)
    assert check_receipt(receipt) == receipt


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"remote_id": ""}, "is empty"),
        ({"remote_id": " \n"}, "is empty"),
        ({"remote_id": "x" * (MAX_ID_BYTES + 1)}, "more than 500 bytes"),
        ({"remote_id": "é" * (MAX_ID_BYTES // 2 + 1)}, "more than 500 bytes"),
        ({"id_scope": "x" * (MAX_SCOPE_BYTES + 1)}, "too long"),
        ({"data": {"cid": "x" * MAX_DATA}}, "too long"),
    ],
)
def test_id_that_cannot_be_stored_leaves_the_post_in_doubt(changes: dict[str, Any], why: str) -> None:
    receipt = replace(GOOD, **changes)
    checked = check_receipt(receipt)
    assert isinstance(checked, CannotTell)
    assert why in checked.why
    intent = IntentEntry(step="post", position=0, number=1, intended_at=NOW, send_before_at=NOW, lookup_at=NOW)
    doubt = UncertainStep(intent, NOW, 2)
    assert decide_after_lookup(Found(receipt), doubt, NEVER, NOW) == LookUpAgain(checked.why)


def test_url_that_is_too_long_is_dropped_and_the_id_kept() -> None:
    assert check_receipt(replace(GOOD, url="https://there/" + "x" * MAX_URL)) == replace(GOOD, url=None)
