"""Several real worker processes with PgBouncer, in transaction mode, between them and PostgreSQL."""

import pytest

from tests.engine.test_processes import (  # noqa: F401
    records,
    start,
    test_jobs_of_a_killed_worker_are_rescued,
    test_two_processes_run_each_job_once,
)
from tests.servers.pgbouncer import PgBouncer

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


@pytest.fixture
def database_url(postgres_url: str, bouncer: PgBouncer) -> str:
    return bouncer.translate(postgres_url)
