"""`/v1/imports`: CSV files are checked, then saved as they were checked, each row once."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.api.processes import Client, Reply, Server
from tests.api.test_list_posts import add, key_for
from tests.contract.databases import PostgresDatabase

ROSSO, VERDE = "bluesky:rosso.test", "bluesky:verde.test"
HEAD = "text;accounts;at;timezone;hashtags;publish_until;first_comment\r\n"
GOOD = f'"Hello, spring";{ROSSO};2035-03-01T08:00;Europe/Rome;#one #two;;\r\n'


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with Server(tmp_path_factory.mktemp("import") / "data") as server:
        for brand in ("rosso", "verde"):
            add(server.api, "bluesky", f"{brand}.test", brand, password="x")
        yield server.api


def check(api: Client, file: str | bytes, query: str = "") -> Any:
    sent = file.encode() if isinstance(file, str) else file
    reply = api.ask("POST", f"/v1/imports{query}", sent, Content_Type="text/csv")
    assert reply.status == 200, reply
    return reply.json


def save(api: Client, token: str, file: str = "") -> Reply:
    path = f"/v1/imports?commit=true&token={token}"
    return api.ask("POST", path, file.encode() or None, Content_Type="text/csv")


def many(number: int, word: str) -> str:
    lines = (f"{word} {each},{ROSSO},2035-04-{each % 28 + 1:02d}T10:00Z\n" for each in range(number))
    return "text,accounts,at\n" + "".join(lines)


def count(api: Client, word: str) -> int:
    return len(api.get(f"/v1/posts?text={word}&limit=200")["data"])


def test_file_is_checked_without_saving(api: Client) -> None:
    result = check(api, HEAD + GOOD.replace("Hello", "Checked"))
    assert (result["state"], result["rows"], result["invalid_rows"], result["created"], result["problems"]) == (
        "checked",
        1,
        0,
        0,
        [],
    )
    assert count(api, "Checked") == 0


@pytest.mark.parametrize("file", ["", "text;accounts;at;hashtag\n", "text,accounts,at\n", "\ufeff"])
def test_unreadable_file_is_reported(api: Client, file: str) -> None:
    result = check(api, file)
    assert (result["rows"], result["invalid_rows"], result["posts"], result["problems"][0]["line"]) == (0, 1, 0, 1)
    saved = save(api, result["token"]).json
    assert (saved["invalid_rows"], saved["problems"]) == (1, result["problems"])


def test_checked_file_is_saved_with_or_without_sending_it_again(api: Client) -> None:
    file = HEAD + GOOD
    result = check(api, "\ufeff" + file)
    saved = save(api, result["token"])
    assert (saved.status, saved.json["state"], saved.json["created"]) == (201, "saved", 1)
    [post] = api.get("/v1/posts?text=spring")["data"]
    assert post["scheduled_at"] == "2035-03-01T07:00:00.000000Z"
    other = check(api, file)
    assert save(api, other["token"], file + GOOD).json["field"] == "token"
    again = save(api, other["token"], file).json
    assert (again["created"], again["existing"]) == (0, 1)
    assert save(api, other["token"]).json == again
    assert api.get(f"/v1/imports/{other['id']}") == again
    assert count(api, "spring") == 1


def test_invalid_rows_are_reported_and_the_others_saved(api: Client) -> None:
    bad = (
        f"No time;{ROSSO};;;;;\r\n"
        f"Past;{ROSSO};2020-01-01T00:00Z;;;;\r\n"
        f"Nobody;bluesky:roso.test;2035-01-01T00:00Z;;;;\r\n"
        f"Nowhere;{ROSSO};2035-01-01T00:00;Mars/Base;;;\r\n"
        f"{'x' * 400};{ROSSO};2035-01-01T00:00Z;;;;\r\n"
        f"Comment;{ROSSO};2035-01-01T00:00Z;;;;first!\r\n"
        f"Until;{ROSSO};2035-01-02T00:00Z;;;2035-01-01T00:00Z;\r\n"
        f"None;;2035-01-01T00:00Z;;;;\r\n"
    )
    file = HEAD + GOOD.replace("Hello", "Between") + bad + GOOD.replace("Hello", "After")
    result = check(api, file)
    assert (result["rows"], result["invalid_rows"]) == (10, 8)
    assert [(fault["line"], fault["column"]) for fault in result["problems"]] == [
        (3, "at"), (4, "at"), (5, "accounts"), (6, "timezone"), (7, "text"), (8, "first_comment"), (9, "publish_until"),
        (10, "accounts"),
    ]  # fmt: skip
    assert result["problems"][2]["value"] == "bluesky:roso.test"
    assert "Did you mean bluesky:rosso.test?" in result["problems"][2]["message"]
    saved = save(api, result["token"]).json
    assert (saved["created"], saved["invalid_rows"], saved["problems"]) == (2, 8, result["problems"])
    assert (count(api, "Between"), count(api, "After")) == (1, 1)


def test_invalid_bytes_are_reported_and_the_other_rows_saved(api: Client) -> None:
    file = (HEAD + GOOD.replace("Hello", "Bytes")).encode() + b"caf\xe9" + GOOD.partition('"Hello, spring"')[2].encode()
    result = check(api, file)
    assert [(fault["line"], fault["column"]) for fault in result["problems"]] == [(3, "text")]
    assert save(api, result["token"]).json["created"] == 1


def test_duplicate_row_is_reported_and_created_once(api: Client) -> None:
    row = GOOD.replace("Hello", "Twins")
    result = check(api, HEAD + row + row)
    [fault] = result["problems"]
    assert (fault["line"], fault["severity"], result["invalid_rows"], result["posts"]) == (3, "warning", 0, 1)
    saved = save(api, result["token"]).json
    assert (saved["created"], saved["existing"]) == (1, 1)


def test_times_without_zone_use_the_zone_of_the_file(api: Client) -> None:
    file = f"text,accounts,at\nZoned,{ROSSO},2035-05-01T12:00\n"
    assert check(api, file)["problems"][0]["column"] == "at"
    result = check(api, file, "?timezone=America/New_York")
    save(api, result["token"])
    [post] = api.get("/v1/posts?text=Zoned")["data"]
    assert post["scheduled_at"] == "2035-05-01T16:00:00.000000Z"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("?commit=true", "token"),
        ("?commit=true&token=unknown", "token"),
        ("?commit=perhaps", "commit"),
        ("?token=x", "token"),
        ("?timezone=Mars", "timezone"),
        ("?dry=run", "dry"),
    ],
)
def test_invalid_query_parameter_is_named(api: Client, query: str, field: str) -> None:
    reply = api.ask("POST", f"/v1/imports{query}", b"", Content_Type="text/csv")
    assert (reply.status, reply.json["field"]) == (422, field)


def test_large_file_gets_413(api: Client) -> None:
    reply = api.ask("POST", "/v1/imports", b"x" * 20_000_001, Content_Type="text/csv")
    assert reply.status == 413
    assert "20,000,000 bytes" in reply.json["detail"]


def test_brand_imports_only_for_its_accounts(api: Client) -> None:
    rosso = key_for(api, "rosso")
    result = check(rosso, f"text,accounts,at\nForeign,{VERDE},2035-01-01T00:00Z\nOwn,{ROSSO},2035-01-01T00:00Z\n")
    assert [(fault["line"], fault["column"]) for fault in result["problems"]] == [(2, "accounts")]
    assert save(api, result["token"]).json["field"] == "token"  # tokens are those of the key they came to
    assert save(rosso, result["token"]).json["created"] == 1
    assert api.get(f"/v1/imports/{result['id']}")["created"] == 1
    whole = check(api, HEAD + GOOD.replace("Hello", "Hidden"))
    nowhere = "01932c07-5b1e-7cc3-98c4-dc0c0c07398f"
    hidden, none = (rosso.ask("GET", f"/v1/imports/{one}") for one in (whole["id"], nowhere))
    assert (hidden.status, none.status) == (404, 404)
    assert hidden.json["detail"].replace(whole["id"], nowhere) == none.json["detail"]


def test_concurrent_saves_create_each_row_once(api: Client) -> None:
    result = check(api, many(300, "Race"))
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda _: save(api, result["token"]), range(4)))
    assert {reply.status for reply in replies} == {201}
    final = api.get(f"/v1/imports/{result['id']}")
    assert (final["state"], final["processed_rows"], final["created"], final["existing"]) == ("saved", 300, 300, 0)


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_import_continues_after_the_server_was_killed(
    folder: Path, database: str, request: pytest.FixtureRequest
) -> None:
    settings = {}
    if database == "postgres":
        settings["POSTINO_DATABASE_URL"] = request.getfixturevalue("postgres_url")
        asyncio.run(PostgresDatabase(settings["POSTINO_DATABASE_URL"]).store().migrate())
    with Server(folder, **settings) as server:
        add(server.api, "bluesky", "rosso.test", "rosso", password="x")
        result = check(server.api, many(3000, "Interrupted"))
        saving = threading.Thread(target=until_it_dies, args=(server.api, result["token"]))
        saving.start()
        while (progress := server.api.get(f"/v1/imports/{result['id']}"))["processed_rows"] < 200:
            time.sleep(0.005)
        os.killpg(server.process.pid, signal.SIGKILL)
        saving.join()
        server.end()
    assert progress["state"] == "saving"
    with Server(folder, **settings) as server:
        stands = server.api.get(f"/v1/imports/{result['id']}")
        assert 200 <= stands["processed_rows"] < 3000
        saved = save(server.api, result["token"]).json
        assert (saved["state"], saved["created"], saved["existing"]) == ("saved", 3000, 0)


def until_it_dies(api: Client, token: str) -> None:
    try:
        save(api, token)
    except (OSError, HTTPException):
        return
