"""`postino accounts`: credentials go in by file, pipe or prompt, and never come out."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from postino.stores.records import AuditContext
from postino.values.post import AccountState
from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue

SECRET = "abcd-efgh-ijkl-mnop"


def test_credentials_from_pipe_are_encrypted_and_never_shown(
    postino: Postino, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps({"password": SECRET})))
    added = postino("accounts", "add", "bluesky", "ada.example.org")
    assert (added.code, added.err) == (0, "")
    assert added.out.startswith("Account bluesky:ada.example.org is saved. Run `")
    assert "accounts check bluesky:ada.example.org" in added.out
    listed = postino("accounts", "list", "--json")
    [account] = listed.json["data"]
    assert (account["id"], account["state"]) == ("bluesky:ada.example.org", "active")
    assert SECRET not in added.out + listed.out + postino("accounts", "list").out
    stored = b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    assert SECRET.encode() not in stored
    opened = LocalQueue(folder).perform(lambda app: app.accounts.open("bluesky:ada.example.org"))
    assert opened.credentials == {"identifier": "ada.example.org", "password": SECRET}


def test_credentials_are_read_from_file(postino: Postino, tmp_path: Path, folder: Path) -> None:
    file = tmp_path / "credentials.json"
    file.write_text(json.dumps({"bot_token": "1:t", "chat_id": "@ada"}))
    assert postino("accounts", "add", "telegram", "ada", "--credentials", file, "--brand", "ada").code == 0
    opened = LocalQueue(folder).perform(lambda app: app.accounts.open("telegram:ada"))
    assert (opened.remote_id, opened.brand) == ("@ada", "ada")


@pytest.mark.parametrize(
    ("words", "given", "message"),
    [
        (["bluesky", "ada"], "", "JSON object of texts"),
        (["bluesky", "ada"], f'{{"password": "{SECRET}"', "JSON object of texts"),
        (["bluesky", "ada"], f'["{SECRET}"]', "JSON object of texts"),
        (["bluesky", "ada"], f'{{"password": ["{SECRET}"]}}', "JSON object of texts"),
        (["bluesky", "ada"], f'{{"pasword": "{SECRET}"}}', "password is missing"),
        (["mastodon", "ada"], f'{{"access_token": "{SECRET}"}}', "base_url"),
        (["mastodon", "ada", "--base-url", "social.example.org"], f'{{"access_token": "{SECRET}"}}', "https://"),
        (["myspace", "ada"], f'{{"password": "{SECRET}"}}', "bluesky, mastodon, telegram"),
        (["instagram", "ada"], "{}", "does not publish to Instagram yet"),
        (["bluesky", "ada"], "{}", "JSON object of texts"),
        (["instagram", "ada"], f'{{"password": "{SECRET}"}}', "does not publish to Instagram yet"),
        (["bluesky", "ada", "--credentials", "nowhere.json"], "", "the file nowhere.json does not exist"),
    ],
)
def test_errors_contain_no_credentials(
    postino: Postino, monkeypatch: pytest.MonkeyPatch, words: list[str], given: str, message: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(given))
    answer = postino("accounts", "add", *words)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert SECRET not in answer.err


def test_suspended_account_is_resumed_and_an_active_one_is_not(postino: Postino, tmp_path: Path, folder: Path) -> None:
    file = tmp_path / "credentials.json"
    file.write_text(json.dumps({"bot_token": "1:t", "chat_id": "@ada"}))
    postino("accounts", "add", "telegram", "ada", "--credentials", file)
    act, state = AuditContext("postino", "kicked"), AccountState.SUSPENDED
    LocalQueue(folder).perform(lambda app: app.store.set_account_state("telegram:ada", state, "kicked", act))
    resumed = postino("accounts", "resume", "telegram:ada", "--reason", "back in the chat", "--json")
    assert (resumed.code, resumed.json["state"]) == (0, "active")
    assert postino("accounts", "resume", "telegram:ada").code == 4


def test_known_account_is_reconnected_and_unknown_is_not_found(postino: Postino, tmp_path: Path, folder: Path) -> None:
    file = tmp_path / "credentials.json"
    file.write_text(json.dumps({"bot_token": "1:t", "chat_id": "@ada"}))
    assert postino("accounts", "add", "telegram", "ada", "--credentials", file, "--brand", "ada").code == 0
    file.write_text(json.dumps({"bot_token": "2:t", "chat_id": "@ada"}))
    done = postino("accounts", "reconnect", "telegram:ada", "--credentials", file, "--reason", "a new bot", "--json")
    assert (done.code, done.json["state"], done.json["brand"]) == (0, "active", "ada")
    opened = LocalQueue(folder).perform(lambda app: app.accounts.open("telegram:ada"))
    assert opened.credentials["bot_token"] == "2:t"
    [entry] = LocalQueue(folder).perform(lambda app: app.store.audit(1))
    assert (entry.action, entry.reason) == ("account.reconnected", "a new bot")
    assert postino("accounts", "reconnect", "telegram:bob", "--credentials", file).code == 3


def test_check_reports_unreachable_network(postino: Postino, local_queue: LocalQueue) -> None:
    nowhere = "http://127.0.0.1:1"
    local_queue.perform(lambda app: app.accounts.add("mastodon", "ada", {"access_token": SECRET}, base_url=nowhere))
    checked = postino("accounts", "check", "mastodon:ada", "--json")
    assert (checked.code, checked.json["works"], checked.json["account"]["state"]) == (1, None, "active")
    assert "127.0.0.1 leads to this machine" in checked.json["message"]
    assert SECRET not in checked.out + checked.err
    assert postino("accounts", "check", "mastodon:bob").code == 3
