"""Client arguments: invalid ones are rejected before anything is sent."""

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
def test_single_account_instead_of_list_is_rejected(deed: str) -> None:
    with pytest.raises(WrongUse, match=r"pass a list, such as \['bluesky:ada'\]. Nothing was sent"):
        getattr(NOWHERE.posts, deed)(text="Hello", accounts="bluesky:ada")


def test_import_accepts_path_or_content(tmp_path: Path) -> None:
    file = tmp_path / "june.csv"
    file.write_bytes(b"text\r\n\xe9")
    assert read_bytes(file) == b"text\r\n\xe9"
    assert read_bytes("caf\u00e9") == read_bytes("caf\u00e9".encode())


@pytest.mark.parametrize(("given", "message"), [(Path("nowhere.csv"), "cannot be read"), (17, "not int")])
def test_invalid_file_is_rejected_with_a_message(given: Any, message: str) -> None:
    with pytest.raises(WrongUse, match=message) as refusal:
        NOWHERE.imports.check(given)
    assert refusal.value.field == "file"


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_methods_have_signatures_without_a_client(kind: type[Client] | type[AsyncClient]) -> None:
    assert [*inspect.signature(kind.calendar).parameters][:3] == ["self", "from_day", "to_day"]
    assert "local days" in (kind.calendar.__doc__ or "")
    assert [*inspect.signature(NOWHERE.calendar).parameters][:2] == ["from_day", "to_day"]
    assert callable(kind.events)
