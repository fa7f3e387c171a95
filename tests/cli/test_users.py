"""`postino users`: passwords come by prompt or pipe, and never come out."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from postino.auth.sign_in import BrowserSession, SignInRefused
from postino.values.auth import Role
from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue

PASSWORD = "correct horse"


def type_in(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def log_in(local_queue: LocalQueue, name: str, password: str) -> object:
    return local_queue.perform(lambda app: app.sign_in.login(name, password, "127.0.0.1"))


def test_user_is_added_changed_and_removed(postino: Postino, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, PASSWORD)
    added = postino("users", "add", "Ada", "--role", "editor", "--brand", "b1", "--reason", "new here")
    assert (added.code, added.out) == (0, "Added user ada with the role editor.\n")
    local_queue = LocalQueue(folder)
    assert local_queue.last_audit()[1:] == ("user.added", "user:ada", "new here")
    result = log_in(local_queue, "ada", PASSWORD)
    assert isinstance(result, BrowserSession)
    assert (result.user.role, result.user.brands) == (Role.EDITOR, frozenset({"b1"}))
    listed = postino("users", "list", "--json")
    assert [(user["name"], user["has_password"]) for user in listed.json["data"]] == [("ada", True)]
    assert "ada" in postino("users", "list").out
    type_in(monkeypatch, "another horse")
    changed = postino("users", "password", "ada")
    assert (changed.code, "ended all their sessions" in changed.out) == (0, True)
    assert local_queue.perform(lambda app: app.sign_in.find_session(result.cookie)) is None
    assert isinstance(log_in(local_queue, "ada", PASSWORD), SignInRefused)
    assert isinstance(log_in(local_queue, "ada", "another horse"), BrowserSession)
    assert postino("users", "remove", "ada", "--reason", "left").code == 0
    assert local_queue.last_audit()[1:] == ("user.removed", "user:ada", "left")
    assert postino("users", "remove", "ada").code == 3
    text = "".join(answer.out + answer.err for answer in (added, listed, changed))
    assert PASSWORD not in text
    assert "another horse" not in text
    stored = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    assert PASSWORD.encode() not in stored


def test_own_password_is_changed_with_the_present_one(
    postino: Postino, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in(monkeypatch, PASSWORD)
    postino("users", "add", "ada", "--role", "editor")
    type_in(monkeypatch, "wrong horse", "another horse")
    wrong = postino("users", "password", "ada", "--own")
    assert (wrong.code, "name or the password is wrong" in wrong.err) == (1, True), wrong
    type_in(monkeypatch, PASSWORD, "password12345")
    weak = postino("users", "password", "ada", "--own")
    assert (weak.code, "password: it is easy to guess" in weak.err) == (2, True), weak
    type_in(monkeypatch, PASSWORD, "another horse")
    changed = postino("users", "password", "ada", "--own", "--reason", "monthly")
    assert (changed.code, changed.out) == (0, "Changed the password of ada and ended all their sessions.\n")
    local_queue = LocalQueue(folder)
    assert local_queue.last_audit() == ("user:ada", "user.changed", "user:ada", "monthly")
    assert isinstance(log_in(local_queue, "ada", "another horse"), BrowserSession)


def test_link_signs_owner_in_without_password(postino: Postino, folder: Path, local_queue: LocalQueue) -> None:
    link = postino("users", "link", "--url", "https://postino.example.org").out.strip()
    address, _, token = link.partition("?token=")
    assert address == "https://postino.example.org/sign-in"
    result = local_queue.perform(lambda app: app.sign_in.follow_link(token))
    assert result is not None
    assert (result.user.name, result.user.role) == ("owner", Role.OWNER)
    assert local_queue.perform(lambda app: app.sign_in.follow_link(token)) is None


def test_link_signs_named_user_in(postino: Postino, local_queue: LocalQueue) -> None:
    assert postino("users", "add", "bob", "--role", "viewer", "--no-password").code == 0
    made = postino("users", "link", "BOB", "--json").json
    result = local_queue.perform(lambda app: app.sign_in.follow_link(made["url"].partition("?token=")[2]))
    assert result is not None
    assert result.user.name == "bob"
    assert postino("users", "link", "nobody").code == 3


@pytest.mark.parametrize(
    ("words", "typed", "code", "message"),
    [
        (["add", "ada", "--role", "emperor"], PASSWORD, 2, "owner, editor, viewer"),
        (["add", "a da", "--role", "viewer"], PASSWORD, 2, "name"),
        (["add", "ada", "--role", "viewer"], "short", 2, "12 to 200"),
        (["add", "ada", "--role", "viewer"], "", 2, "12 to 200"),
        (["password", "ada"], PASSWORD, 3, "User ada does not exist"),
    ],
)
def test_errors_contain_no_password(
    postino: Postino,
    local_queue: LocalQueue,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    typed: str,
    code: int,
    message: str,
) -> None:
    type_in(monkeypatch, typed)
    answer = postino("users", *words)
    assert (answer.code, answer.out) == (code, "")
    assert message in answer.err
    assert not typed or typed not in answer.err
    assert local_queue.perform(lambda app: app.store.audit(1)) == []


def test_duplicate_user_name_is_rejected(postino: Postino, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, PASSWORD, PASSWORD)
    assert postino("users", "add", "ada", "--role", "viewer", "--json").json["name"] == "ada"
    assert postino("users", "add", "ADA", "--role", "viewer").code == 4
