"""Standbys, snapshots and dumps behave as the tests that use them expect."""

from __future__ import annotations

import pytest

from tests.servers.postgres import PostgresServer
from tests.servers.postgres_backups import Snapshot, Standby, ask, dump_database, restore_dump
from tests.servers.test_postgres import count_notes, write_note

pytestmark = [pytest.mark.slow, pytest.mark.crash]


def test_standby_takes_over_with_what_it_received(private_postgres: PostgresServer) -> None:
    url = private_postgres.create_database()
    write_note(url)
    with Standby(private_postgres) as standby:
        write_note(url)
        standby.stop_receiving()
        write_note(url)
        standby.take_over()
        assert not private_postgres.running
        copy = standby.get_url_like(url)
        assert count_notes(copy) == 2
        write_note(copy)
        assert count_notes(copy) == 3


@pytest.mark.parametrize("way", ["take_from_volume", "take_from_stream"])
def test_snapshot_is_put_back_on_the_same_address(private_postgres: PostgresServer, way: str) -> None:
    url = private_postgres.create_database()
    write_note(url)
    snapshot: Snapshot = getattr(Snapshot(private_postgres), way)()
    for _ in range(2):
        write_note(url)
        assert count_notes(url) == 2
        snapshot.put_back()
        assert count_notes(url) == 1


def test_dump_is_restored_in_place_and_into_another_cluster(
    postgres_server: PostgresServer, private_postgres: PostgresServer
) -> None:
    url, other = postgres_server.create_database(), private_postgres.create_database()
    write_note(url)
    dump = dump_database(postgres_server, url)
    write_note(url)
    restore_dump(postgres_server, dump, url)
    restore_dump(private_postgres, dump, other)
    assert (count_notes(url), count_notes(other)) == (1, 1)
    system = "SELECT system_identifier FROM pg_control_system()"
    assert ask(url, system) != ask(other, system)
    postgres_server.drop_database(url)
