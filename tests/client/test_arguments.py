"""What programs give a client: taken as it is meant, or refused before anything is sent."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from postino.client import AsyncClient, Client
from postino.client.posts import read_bytes
from postino.errors import WrongUse

NOWHERE = Client("http://127.0.0.1:9", "key")


@pytest.mark.parametrize("deed", ["create", "preview", "validate"])
def test_one_account_that_is_no_list_is_refused_by_its_name(deed: str) -> None:
    with pytest.raises(WrongUse, match=r"pass a list, such as \['bluesky:ada'\]. Nothing was sent"):
        getattr(NOWHERE.posts, deed)(text="Hello", accounts="bluesky:ada")


def test_a_file_is_given_by_its_path_or_by_what_is_in_it(tmp_path: Path) -> None:
    file = tmp_path / "june.csv"
    file.write_bytes(b"text\r\n\xe9")
    assert read_bytes(file) == b"text\r\n\xe9"
    assert read_bytes("caf\u00e9") == read_bytes("caf\u00e9".encode())


@pytest.mark.parametrize(("given", "told"), [(Path("nowhere.csv"), "cannot be read"), (17, "not int")])
def test_what_is_no_file_is_refused_in_words(given: Any, told: str) -> None:
    with pytest.raises(WrongUse, match=told) as refusal:
        NOWHERE.imports.check(given)
    assert refusal.value.field == "file"


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_methods_can_be_looked_at_before_there_is_a_client(kind: type[Client] | type[AsyncClient]) -> None:
    assert [*inspect.signature(kind.calendar).parameters][:3] == ["self", "from_day", "to_day"]
    assert "local days" in (kind.calendar.__doc__ or "")
    assert [*inspect.signature(NOWHERE.calendar).parameters][:2] == ["from_day", "to_day"]
    assert callable(kind.events)
