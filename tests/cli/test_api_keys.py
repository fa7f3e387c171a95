"""`postino keys`: a key is shown once, and ends at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from postino.values.auth import Role
from tests.cli.conftest import Postino
from tests.cli.local_queue import LocalQueue


def test_key_is_shown_once_listed_by_prefix_and_removed(postino: Postino, folder: Path) -> None:
    added = postino("keys", "add", "newsroom", "--role", "editor", "--brand", "b2", "--brand", "b1", "--reason", "why")
    text = added.out.strip()
    assert (added.code, text[:8]) == (0, "postino_")
    assert "never shows it again" in added.err
    assert text not in added.err
    local_queue = LocalQueue(folder)
    result = local_queue.perform(lambda app: app.api_keys.authenticate(text))
    assert result is not None
    assert (result.role, result.brands, result.created_by[:4]) == (Role.EDITOR, frozenset({"b1", "b2"}), "cli:")
    assert local_queue.last_audit()[1:] == ("api_key.added", f"api_key:{result.id}", "why")
    table, listed = postino("keys", "list"), postino("keys", "list", "--json")
    assert text not in table.out + listed.out
    assert text[:16] in table.out
    assert [(key["name"], key["prefix"]) for key in listed.json["data"]] == [("newsroom", text[:16])]
    removed = postino("keys", "remove", result.id, "--reason", "gone")
    assert (removed.code, removed.out) == (0, "Revoked API key 'newsroom'.\n")
    assert local_queue.perform(lambda app: app.api_keys.authenticate(text)) is None
    assert local_queue.last_audit()[1:] == ("api_key.removed", f"api_key:{result.id}", "gone")
    assert postino("keys", "remove", result.id).code == 3
    assert postino("keys", "list", "--json").json["data"] == []


def test_key_with_job_types(postino: Postino) -> None:
    added = postino(
        "keys", "add", "snaps", "--role", "editor", "--job-type", "snap.b", "--job-type", "snap.a", "--json"
    )
    assert added.json["job_types"] == ["snap.a", "snap.b"]
    postino("keys", "add", "posts", "--role", "editor")
    postino("keys", "add", "boss", "--role", "owner")
    table = postino("keys", "list").out
    assert [name in table for name in ("snap.a, snap.b", "none", "all")] == [True] * 3
    refused = postino("keys", "add", "reader", "--role", "viewer", "--job-type", "snap.a")
    assert (refused.code, "a viewer queues no jobs" in refused.err) == (2, True), refused


def test_json_output(postino: Postino) -> None:
    added = postino("keys", "add", "ci", "--role", "viewer", "--expires", "2099-01-01T00:00Z", "--json").json
    assert added["key"].startswith(added["prefix"])
    assert (added["role"], added["brands"], added["expires_at"]) == ("viewer", None, "2099-01-01T00:00:00.000000Z")
    removed = postino("keys", "remove", added["id"], "--json").json
    assert removed["id"] == added["id"]
    assert "key" not in removed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["add", "ci", "--role", "emperor"], "owner, editor, viewer"),
        (["add", "ci"], "--role"),
        (["add", "", "--role", "viewer"], "name"),
        (["add", "ci", "--role", "viewer", "--expires", "2020-01-01T00:00Z"], "has passed"),
        (["add", "ci", "--role", "viewer", "--expires", "soon"], "soon"),
        (["remove", "7"], "postino keys list"),
    ],
)
def test_invalid_input_changes_nothing(
    postino: Postino, local_queue: LocalQueue, words: list[str], message: str
) -> None:
    answer = postino("keys", *words)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert local_queue.perform(lambda app: app.store.audit(1)) == []
