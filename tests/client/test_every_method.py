"""Every method of both clients is called on a real server; responses match their types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pydantic import TypeAdapter

from postino.client import Client, RetryOptions
from postino.client.api import Api
from postino.client.endpoints import EndpointMethod, Resource
from postino.client.types.accounts import AccountCheckView, AccountView
from postino.client.types.audit import AuditEntryView
from postino.client.types.auth import ApiKeyView, CallerView, CreatedApiKeyView, SignInLinkView, UserView
from postino.client.types.calendar import CalendarDayView, CalendarPostView
from postino.client.types.database import DatabaseView
from postino.client.types.dead_letters import DeadLetterDetailsView, DeadLetterView
from postino.client.types.drafts import DraftView
from postino.client.types.events import EventView
from postino.client.types.explain import BlockerView, ExplanationView
from postino.client.types.gates import (
    BlackoutView,
    ChannelCapView,
    CircuitView,
    CreatedBlackoutView,
    DispatchResultView,
    GateView,
    QueuesView,
    QueueView,
)
from postino.client.types.imports import ImportView
from postino.client.types.jobs import EvaluationView, JobDetailsView, JobEvaluationView, JobView, QueuedJobView
from postino.client.types.posts import (
    ContentView,
    EditedPostView,
    PostDetailsView,
    PostPreviewView,
    PostView,
    PreviewResultView,
    ValidationResultView,
)
from postino.client.types.stats import StatsView
from postino.client.types.uncertain import LookupResultView, UncertainJobDetailsView, UncertainJobView
from postino.errors import Conflict, NotFound, StoreUnreachable
from postino.values.job import Job
from postino.values.outcome import Outcome, Reject, Unknown
from tests.api.fake_worker import run_due_jobs
from tests.api.processes import Server
from tests.client.conftest import Kind

LATER = "2031-03-01T10:00:00Z"


def list_methods(kind: type[Resource[Any]]) -> Iterator[str]:
    return (name for name, it in vars(kind).items() if isinstance(it, EndpointMethod))


def list_all_methods() -> set[str]:
    client = Client("http://127.0.0.1:1")
    resources = {name: type(resource) for name, resource in vars(client).items() if isinstance(resource, Resource)}
    return {
        *list_methods(Api),
        *(f"{name}.{verb}" for name, resource in resources.items() for verb in list_methods(resource)),
    }


def check_type(value: Any, shape: Any) -> None:
    """Check that a value has exactly the fields of a type."""
    TypeAdapter(shape).validate_python(value, strict=True, extra="forbid")


async def add_account(ask: Any) -> Any:
    handle = f"{uuid4().hex[:6]}@social.example"
    return await ask(lambda c: c.accounts.add(
        "mastodon", handle, {"access_token": "hush"}, base_url="sandbox:/mastodon", brand="acme", reason="new",
    ))  # fmt: skip


async def run_jobs_with(server: Server, ask: Any, outcome: Outcome, count: int = 1) -> list[str]:
    """Create jobs and run them with this outcome."""
    made = [(await ask(lambda c: c.jobs.create("report", channel=uuid4().hex)))["id"] for _ in range(count)]

    def choose_outcome(job: Job) -> Outcome:
        return outcome if str(job.id) in made else Reject("not ours")

    await run_due_jobs(server, choose_outcome)
    return made


async def test_posts(kind: Kind, server: Server) -> None:
    async with kind.of(server) as ask:
        who = (await add_account(ask))["id"]
        fields = {"text": f"Hello {uuid4()}", "accounts": [who]}
        made = await ask(lambda c: c.posts.create(**fields, at=LATER))
        [post] = made["posts"]
        check_type(post, PostView)
        assert {"content_id", "status", "posts", "notes"} <= set(made)
        check_type(await ask(lambda c: c.posts.preview(**fields)), PreviewResultView)
        validation = await ask(lambda c: c.posts.validate(**fields))
        check_type(validation, ValidationResultView)
        check_type(validation["posts"][0], PostPreviewView)
        details = await ask(lambda c: c.posts.get(post["id"]))
        check_type(details, PostDetailsView)
        check_type(await ask(lambda c: c.posts.content(post["content_id"])), ContentView)
        explained = await ask(lambda c: c.posts.explain(post["id"], timezone="Europe/Rome"))
        check_type(explained, ExplanationView)
        check_type(explained["blockers"][0], BlockerView)
        changed = await ask(lambda c: c.posts.edit(post["id"], text="Otherwise", publish_until=None, reason="typo"))
        check_type(changed, EditedPostView)
        assert (changed["text"], changed["version"]) == ("Otherwise", 2)
        check_type(await ask(lambda c: c.posts.publish_now(post["id"], reason="hurry")), PostView)
        await run_due_jobs(server, lambda _: Reject("The network says no."))
        check_type(await ask(lambda c: c.posts.replay(post["id"], force=True)), PostView)
        await run_due_jobs(server, lambda _: Unknown("The answer was lost."))
        resolved = await ask(lambda c: c.posts.resolve(post["id"], "live", reason="seen", remote_id=f"r-{uuid4()}"))
        assert resolved["status"] == "published"
        other = await ask(lambda c: c.posts.create(text=f"Other {uuid4()}", accounts=[who], at=LATER))
        assert (await ask(lambda c: c.posts.cancel(other["posts"][0]["id"])))["status"] == "cancelled"


async def test_lists_return_one_page_or_all_items(kind: Kind, server: Server) -> None:
    async with kind.of(server) as ask:
        who = (await add_account(ask))["id"]
        made = []
        for _ in range(5):
            response = await ask(lambda c: c.posts.create(text=f"Hello {uuid4()}", accounts=[who], at=LATER))
            made.append(response["posts"][0]["id"])
        page = await ask(lambda c: c.posts.list(account=who, limit=2))
        assert [one["id"] for one in page["data"]] == made[:2:-1]
        more = await ask(lambda c: c.posts.list(account=who, limit=2, cursor=page["next_cursor"]))
        assert [one["id"] for one in more["data"]] == made[2:0:-1]
        wanted = {"account": who, "limit": 2, "status": "scheduled,failed", "from_at": "2031-01-01T00:00:00Z"}
        assert sorted(one["id"] for one in await ask.every(lambda c: c.posts.iterate(**wanted))) == sorted(made)
        days = await ask(lambda c: c.calendar("2031-03-01", "2031-03-02", timezone="Europe/Rome", brand="acme"))
        check_type(days["data"][0], CalendarDayView)
        check_type(days["data"][0]["posts"][0], CalendarPostView)


async def test_drafts(kind: Kind, server: Server) -> None:
    async with kind.of(server) as ask:
        who = (await add_account(ask))["id"]
        draft = await ask(lambda c: c.drafts.create(text=f"Some day {uuid4()}", title="T", accounts=[who]))
        check_type(draft, DraftView)
        assert (await ask(lambda c: c.drafts.get(draft["id"])))["id"] == draft["id"]
        assert (await ask(lambda c: c.drafts.edit(draft["id"], title=None))).get("title") is None
        page = await ask(lambda c: c.drafts.list(limit=1))
        assert page["data"][0]["id"] == draft["id"]
        assert draft["id"] in [one["id"] for one in await ask.every(lambda c: c.drafts.iterate(limit=1))]
        made = await ask(lambda c: c.drafts.schedule(draft["id"], at=LATER))
        assert made["posts"][0]["status"] == "scheduled"
        other = await ask(lambda c: c.drafts.create(text="Never"))
        await ask(lambda c: c.drafts.remove(other["id"]))
        with pytest.raises(NotFound, match=other["id"]):
            await ask(lambda c: c.drafts.get(other["id"]))


async def test_jobs(kind: Kind, server: Server) -> None:
    async with kind.of(server) as ask:
        channel = uuid4().hex
        job = await ask(lambda c: c.jobs.create("report", channel=channel, payload={"n": 1}, run_at=LATER))
        check_type(job, QueuedJobView)
        assert (await ask(lambda c: c.jobs.preview("report", channel=channel)))["preview"]
        tested = await ask(lambda c: c.jobs.test(channel, run_at=LATER))
        check_type(tested, JobEvaluationView)
        check_type(tested["evaluation"], EvaluationView)
        check_type(await ask(lambda c: c.jobs.get(job["id"])), JobDetailsView)
        check_type(await ask(lambda c: c.jobs.explain(job["id"])), ExplanationView)
        [only] = (await ask(lambda c: c.jobs.list(channel=channel)))["data"]
        check_type(only, JobView)
        other = await ask(lambda c: c.jobs.create("report", channel=channel, run_at=LATER))
        response = await ask.every(lambda c: c.jobs.iterate(channel=channel, limit=1))
        assert [one["id"] for one in response] == [other["id"], job["id"]]
        check_type(await ask(lambda c: c.jobs.cancel(job["id"], reason="over")), JobView)
        [result] = (await ask(lambda c: c.jobs.change("cancel", ids=[other["id"]])))["data"]
        assert result["done"]
        [failed] = await run_jobs_with(server, ask, Reject("It is too long."))
        check_type(await ask(lambda c: c.jobs.replay(failed, force=True)), JobView)
        [doubtful] = await run_jobs_with(server, ask, Unknown("The answer was lost."))
        resolved = await ask(lambda c: c.jobs.resolve(doubtful, "give_up", reason="over"))
        assert resolved["state"] == "failed"


async def test_dead_letters_and_uncertain_jobs(kind: Kind, server: Server) -> None:
    async with kind.of(server) as ask:
        letters = await run_jobs_with(server, ask, Reject("It is too long."), 4)
        first = letters[0]
        page = await ask(lambda c: c.dead_letters.list(type="report", limit=1))
        check_type(page["data"][0], DeadLetterView)
        assert {*letters} <= {one["id"] for one in await ask.every(lambda c: c.dead_letters.iterate(limit=2))}
        assert (await ask(lambda c: c.dead_letters.groups()))["data"]
        check_type(await ask(lambda c: c.dead_letters.get(first)), DeadLetterDetailsView)
        check_type(await ask(lambda c: c.dead_letters.replay(first, payload={"n": 2}, reason="shorter")), JobView)
        check_type(await ask(lambda c: c.dead_letters.discard(letters[1], reason="over")), DeadLetterDetailsView)
        again = await ask(lambda c: c.dead_letters.replay_many(ids=[letters[2]], per_second=1, force=True))
        assert again["data"][0]["done"]
        aside = await ask(lambda c: c.dead_letters.discard_many(ids=[letters[3]], reason="over"))
        assert aside["data"][0]["done"]
        [doubtful] = await run_jobs_with(server, ask, Unknown("The answer was lost."))
        [value] = (await ask(lambda c: c.uncertain.list(limit=1)))["data"]
        check_type(value, UncertainJobView)
        assert doubtful in [one["id"] for one in await ask.every(lambda c: c.uncertain.iterate())]
        check_type(await ask(lambda c: c.uncertain.get(doubtful)), UncertainJobDetailsView)
        check_type(await ask(lambda c: c.uncertain.lookup(doubtful)), LookupResultView)


async def test_accounts_and_gates(kind: Kind, server: Server) -> None:
    async with kind.of(server) as ask:
        account = await add_account(ask)
        who = account["id"]
        check_type(account, AccountView)
        assert who in [one["id"] for one in (await ask(lambda c: c.accounts.list(network="mastodon")))["data"]]
        assert (await ask(lambda c: c.accounts.get(who)))["id"] == who
        check_type(await ask(lambda c: c.accounts.check(who)), AccountCheckView)
        where = {"base_url": "sandbox:/mastodon", "reason": "changed"}
        await ask(lambda c: c.accounts.reconnect(who, {"access_token": "new"}, **where))
        assert (await ask(lambda c: c.accounts.pause(who, reason="holiday")))["state"] == "paused"
        assert (await ask(lambda c: c.accounts.resume(who)))["state"] == "active"
        night = {"scope": "account", "account": who, "start": "22:00", "end": "07:00", "timezone": "UTC", "days": [0]}
        assert (await ask(lambda c: c.blackouts.preview(**night)))["preview"]
        added = await ask(lambda c: c.blackouts.add(**night))
        check_type(added, CreatedBlackoutView)
        assert [one["id"] for one in (await ask(lambda c: c.blackouts.list()))["data"]] == [added["id"]]
        check_type(await ask(lambda c: c.blackouts.remove(added["id"], reason="morning")), BlackoutView)
        opened = await ask(lambda c: c.circuits.open("linkedin", reason="they said so", seconds=60))
        check_type(opened, CircuitView)
        assert (await ask(lambda c: c.circuits.close("linkedin", reason="well again")))["state"] == "closed"
        assert (await ask(lambda c: c.circuits.reset("linkedin", reason="well again")))["trips"] == 0
        assert (await ask(lambda c: c.circuits.list()))["data"]


async def test_pauses_caps_and_cooldowns(kind: Kind, server: Server) -> None:
    async with kind.of(server) as ask:
        brand = uuid4().hex
        paused = await ask(lambda c: c.gates.pause("brand", brand, reason="recall"))
        check_type(paused, GateView)
        assert (paused["scope"], paused["name"], paused["reason"]) == ("brand", brand, "recall")
        assert (await ask(lambda c: c.gates.resume("brand", brand)))["name"] == brand
        with pytest.raises(NotFound):
            await ask(lambda c: c.gates.end_cooldown("channel", "mastodon"))
        check_type(await ask(lambda c: c.gates.cap("mastodon", 2, reason="slowly")), ChannelCapView)
        assert await ask(lambda c: c.gates.cap("mastodon", None)) == {"channel": "mastodon", "cap": 50}
        check_type(await ask(lambda c: c.dispatch_due()), DispatchResultView)
        check_type(await ask(lambda c: c.database.get()), DatabaseView)
        with pytest.raises(Conflict):
            await ask(lambda c: c.database.accept("moved", reason="nothing was asked"))


async def test_users_and_api_keys(kind: Kind, server: Server) -> None:
    async with kind.of(server) as ask:
        name = uuid4().hex[:12]
        key = await ask(lambda c: c.api_keys.add(name, "viewer", brands=["acme"], expires_at=LATER, reason="a page"))
        check_type(key, CreatedApiKeyView)
        assert key["id"] in [one["id"] for one in await ask.every(lambda c: c.api_keys.iterate(limit=1))]
        check_type(await ask(lambda c: c.api_keys.remove(key["id"], reason="over")), ApiKeyView)
        user = await ask(lambda c: c.users.add(name, "editor", brands=["acme"]))
        who = user["id"]
        assert who in [one["id"] for one in await ask.every(lambda c: c.users.iterate(limit=1))]
        check_type(await ask(lambda c: c.users.get(who)), UserView)
        assert (await ask(lambda c: c.users.change(who, brands=None, reason="all of it")))["brands"] is None
        first, second = f"first password of {user['name']}", f"second password of {user['name']}"
        await ask(lambda c: c.users.change(who, password=first))
        check_type(await ask(lambda c: c.users.change_password(user["name"], first, second)), UserView)
        link = await ask(lambda c: c.users.link(who))
        check_type(link, SignInLinkView)
        assert server.api.ask("GET", link["path"]).status == 303
        assert (await ask(lambda c: c.users.remove(who)))["id"] == who


async def test_imports(kind: Kind, server: Server) -> None:
    async with kind.of(server) as ask:
        who = (await add_account(ask))["id"]
        file = f"text,accounts,at\n{uuid4()},{who},{LATER}\n".encode()
        checked = await ask(lambda c: c.imports.check(file, timezone="Europe/Rome"))
        check_type(checked, ImportView)
        saved = await ask(lambda c: c.imports.save(checked["token"]))
        assert (saved["rows"], saved["created"], saved["problems"]) == (1, 1, [])
        assert (await ask(lambda c: c.imports.get(checked["id"])))["state"] == saved["state"]


async def test_sandbox(kind: Kind, server: Server) -> None:
    """This server has no sandbox."""
    async with kind.of(server, retry=RetryOptions(attempts=1)) as ask:
        questions: list[Any] = [
            lambda c: c.sandbox.published(),
            lambda c: c.sandbox.networks(),
            lambda c: c.sandbox.calls(),
            lambda c: c.sandbox.faults(),
            lambda c: c.sandbox.add_fault("bluesky", "drop", times=1),
            lambda c: c.sandbox.remove_fault(1),
            lambda c: c.sandbox.remove_faults(),
            lambda c: c.sandbox.reset(),
        ]
        for question in questions:
            with pytest.raises(StoreUnreachable, match="sandbox"):
                await ask(question)


async def test_methods_of_the_client_itself(kind: Kind, server: Server) -> None:
    async with kind.of(server) as ask:
        await add_account(ask)
        await ask(lambda c: c.jobs.create("report", channel=uuid4().hex, run_at=LATER))
        queues = await ask(lambda c: c.queues())
        assert set(queues) == set(QueuesView.__annotations__)
        check_type(queues["data"][0], QueueView)
        assert (await ask(lambda c: c.workers()))["next_cursor"] is None
        assert "acme" in [one["brand"] for one in (await ask(lambda c: c.brands()))["data"]]
        assert await ask.every(lambda c: c.quotas(limit=1))
        check_type(await ask(lambda c: c.stats()), StatsView)
        lines = await ask.every(lambda c: c.audit(limit=2))
        check_type(lines[0], AuditEntryView)
        assert [one["seq"] for one in lines] == [*range(len(lines), 0, -1)]
        assert (await ask(lambda c: c.verify_audit()))["verified"]
        assert "started_jobs" in await ask(lambda c: c.forecast("2026-12-01T00:00:00Z", from_at="2026-11-30T00:00:00Z"))
        check_type(await ask(lambda c: c.me()), CallerView)
        [event] = await ask.every(lambda c: c.events(after="0-0"), 1)
        check_type(event, EventView)


def test_every_method_is_called_above() -> None:
    """The calls above name their client `c`."""
    assert set(re.findall(r"\bc\.([a-z_.]+)\(", Path(__file__).read_text())) == list_all_methods()
