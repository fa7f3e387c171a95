"""Whatever job the API and `app.enqueue` accept can be claimed, run, settled, listed and explained beside others."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from postino import Defer, Done, Exponential, JobSpec, Postino, Reject, Retry, Schedule, State, Unknown, WrongUse
from postino.cli.in_process import InProcessTransport
from postino.client.messages import ApiRequest
from postino.values.job import Job
from tests.engine.conftest import make_config, run_worker, wait_for

LAST = datetime(8999, 12, 31, 23, 59, 59, tzinfo=UTC)
EMOJI, BYTES = "\U0001f600" * 125, "".join(chr(0x4E00 + 7 * n) for n in range(166))
LABELS = ["a", " ", "\n", "'\"\\%_{}", "\x01\x1b[31m\u202e", "é\u0301", "\ufffe", "x" * 500, EMOJI, BYTES, "@", "null"]
REFUSED_LABELS = ["", "x" * 501, "\x00", "\ud800", EMOJI + "x", 7, ["a"]]
NUMBERS = [1e308, -1e308, 5e-324, 1e-9, 0, -0.0, -1, 0.5, 1, 2, 1000, 1001, 2**31, 2**63, 2**64, 10**400, 31_622_400.0]
NOT_NUMBERS = [float("inf"), float("nan"), True, "1"]
DEEP = json.loads("[" * 200 + "]" * 200)
PAYLOADS = [None, {}, DEEP, "\u0000", {"\u2028": [1e308, -0.0, 2**63, "\ufffe"]}, "x" * 100_000, {"x" * 1000: 1}]
TIMES = ["1970-01-01T00:00:00Z", "1971-01-01T00:00:00Z", "8999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59Z",
         "8999-12-31T23:59:59-23:59", "2030-02-30T00:00:00Z", "0001-01-01T00:00:00+14:00"]  # fmt: skip
OUTCOMES: Sequence[Any] = [
    Done(result={"x": 5e-324}, remote_id="r" * 5000),
    Done(result=DEEP),
    Retry("again \x00\ud800" + "x" * 10_000),
    Retry("later", not_before=LAST),
    Retry("before", not_before=datetime(1971, 1, 1, tzinfo=UTC)),
    Defer(LAST, "far"),
    Reject("never \x00\ud800"),
    Unknown("lost \x00", lookup_at=LAST),
    Unknown("lost"),
    ValueError("\x00\ud800" + "x" * 100_000),
]
TYPES = [f"{label}{number}"[-125:] for number, label in enumerate(LABELS) if len(f"{label}{number}".encode()) <= 500]


class Fields(dict[str, Any]):
    """The fields of a job, of which a failed test prints the beginnings."""

    def __repr__(self) -> str:
        return ", ".join(f"{name}: {value!r:.20}" for name, value in self.items())


BACKOFFS = [
    *(
        Exponential(base, factor, most)
        for base in (0, 1e308)
        for factor in (1, 1000, 1e308)
        for most in (0, 1e7, 1e308)
    ),
    *(Schedule([delay] * count) for delay in (0, 5e-324, 31_622_400, 1e308) for count in (1, 100, 101)),
]
LABEL_FIELDS = ("channel", "account", "brand", "user_id", "correlation_id")
IN_BOTH: dict[str, list[Any]] = {
    **{name: [None, *LABELS, *REFUSED_LABELS] for name in LABEL_FIELDS},
    **{name: [None, *NUMBERS, *NOT_NUMBERS] for name in ("max_attempts", "time_limit")},
    "queue": ["high", "low", "urgent"],
    "payload": PAYLOADS,
}
IN_API = IN_BOTH | {"idempotency_key": LABELS + REFUSED_LABELS, "run_at": TIMES}
IN_APP = IN_BOTH | {
    "key": LABELS + REFUSED_LABELS,
    "at": [LAST, LAST + timedelta(1), datetime(1971, 1, 1, tzinfo=UTC), LAST.replace(tzinfo=None)],
    "backoff": BACKOFFS,
}


def list_single_extremes(values: Mapping[str, list[Any]]) -> list[Fields]:
    """Return a job for each value of each field."""
    fields = [(name, value) for name, some in values.items() for value in some]
    jobs = [Fields({"type": TYPES[number % len(TYPES)], name: value}) for number, (name, value) in enumerate(fields)]
    return [*jobs, *(Fields(type=type_) for type_ in [*TYPES, *REFUSED_LABELS, "unknown"])]


@st.composite
def extreme_jobs(draw: st.DrawFn, values: Mapping[str, list[Any]]) -> Fields:
    """Return a job with a few extreme values, so that many are accepted."""
    names = draw(st.lists(st.sampled_from(sorted(values)), min_size=1, max_size=3, unique=True))
    return Fields(
        {"type": draw(st.sampled_from(TYPES))} | {name: draw(st.sampled_from(values[name])) for name in names}
    )


few = settings(
    max_examples=5,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
    report_multiple_bugs=False,
)


@pytest.mark.slow
@few
@example(bodies=list_single_extremes(IN_API), specs=list_single_extremes(IN_APP))
@given(bodies=st.lists(extreme_jobs(IN_API), min_size=20), specs=st.lists(extreme_jobs(IN_APP), min_size=20))
def test_accepted_extremes_stop_nobody(
    database_url: str, tmp_path: Path, bodies: list[Fields], specs: list[Fields]
) -> None:
    asyncio.run(run_beside_others(database_url, tmp_path, bodies, specs))


async def run_beside_others(url: str, folder: Path, bodies: list[Fields], specs: list[Fields]) -> None:
    config = make_config(folder, url)
    app = Postino(config)
    await app.store.migrate()
    async with app:
        register_handlers(app)
        api = Api(app)
        accepted = [*await api.create_jobs(bodies), *await enqueue_accepted(app, specs)]
        victims = [await app.enqueue("victim", brand="victim", account=f"v{n % 2}") for n in range(4)]
        victims += [await app.enqueue("victim") for _ in range(4)]
        async with run_worker(app):
            for victim in victims:
                await wait_for(lambda job=victim: is_completed(app, job))  # type: ignore[misc]
            for job_id in accepted:
                await wait_for(lambda job_id=job_id: has_run_or_waits(app, api, job_id))  # type: ignore[misc]
        await api.read_everything([*accepted, *(str(victim.id) for victim in victims)])


def register_handlers(app: Postino) -> None:
    @app.handler("victim")
    async def victim(job: Job) -> None: ...

    for number, type_ in enumerate(TYPES):
        app.handler(type_)(make_handler(OUTCOMES[number % len(OUTCOMES)]))


def make_handler(outcome: Any) -> Callable[[Job, bytes], Coroutine[Any, Any, Any]]:
    async def handle(job: Job, payload: bytes) -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return handle


async def enqueue_accepted(app: Postino, specs: list[Fields]) -> list[str]:
    accepted = []
    for fields in specs:
        refused = None
        try:
            accepted.append(str((await app.enqueue_spec(JobSpec(**fields))).id))
        except WrongUse as error:
            refused = error
        assert refused is None or refused.field in fields, refused
    return accepted


async def is_completed(app: Postino, job: Job) -> bool:
    return (await app.store.job(job.id)).state is State.COMPLETED


async def has_run_or_waits(app: Postino, api: "Api", job_id: str) -> bool:
    """Return whether the job was started, or something else than a delay keeps it from starting."""
    job = await api.get(f"/v1/jobs/{job_id}")
    if job["state"] != "pending" or job["attempts"] or job["history"]:
        return True
    blockers = (await api.get(f"/v1/jobs/{job_id}/explain"))["blockers"]
    return bool({blocker["kind"] for blocker in blockers} - {"lag", "no_worker", "lane"})


class Api:
    """The API of an app, without a network. Unexpected errors are raised."""

    def __init__(self, app: Postino) -> None:
        self.transport = InProcessTransport(app, "tester", None)  # type: ignore[arg-type]

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        content = None if body is None else json.dumps(body).encode()
        response = await self.transport.call(ApiRequest(method, path, body=content))
        return response.status, json.loads(response.body)

    async def get(self, path: str) -> Any:
        status, answer = await self.ask("GET", path)
        assert status == 200, answer
        return answer

    async def create_jobs(self, bodies: list[Fields]) -> list[str]:
        """Create these jobs; those that the API refuses are refused by the name of a field."""
        accepted = []
        for body in bodies:
            status, answer = await self.ask("POST", "/v1/jobs", body)
            assert status in (200, 201, 400, 422), answer
            if status >= 400:
                assert status == 400 or answer["field"].split(".")[0] in body, answer
            else:
                accepted.append(answer["id"])
        return accepted

    async def read_everything(self, job_ids: list[str]) -> None:
        for path in (
            "/v1/jobs",
            "/v1/dead-letters",
            "/v1/uncertain",
            "/v1/queues",
            "/v1/workers",
            "/v1/stats",
            "/v1/dead-letters/groups",
        ):
            await self.get(path)
        for job_id in job_ids:
            await self.get(f"/v1/jobs/{job_id}")
            await self.get(f"/v1/jobs/{job_id}/explain")
