"""The place of a database, by which a machine remembers its audit trail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from postino.wiring import describe_place


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("postgresql://ada:one@db.test/postino", "postgresql://bob:two@db.test/postino?sslmode=require", True),
        ("postgresql://db.test/postino", "postgresql://db.test/other", False),
        ("postgresql://db.test/postino", "postgresql://db.test:6543/postino", False),
        ("postgresql:///postino?host=/run/a&user=ada", "postgresql:///postino?host=/run/a&password=x", True),
        ("postgresql:///postino?host=/run/a", "postgresql:///postino?host=/run/b", False),
        ("sqlite:////srv/a.db", "sqlite:////srv/b.db", False),
    ],
)
def test_place_has_the_server_and_the_name_but_no_credentials(first: str, second: str, same: bool) -> None:
    assert (describe_place(first) == describe_place(second)) is same
    assert "ada" not in describe_place(first)


def test_links_to_a_file_are_the_same_place(tmp_path: Path) -> None:
    os.symlink(tmp_path, tmp_path / "link")
    assert describe_place(f"sqlite:///{tmp_path}/link/a.db") == describe_place(f"sqlite:///{tmp_path}/a.db")
