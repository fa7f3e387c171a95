"""`run_with_faults` finds what is wrong with a network or a handler, tells it as a story, and accepts what is right."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest

from postino import Call, Job, Postino
from postino.config import Config
from postino.errors import ConfigError, WrongUse
from postino.testing import SentRequest, run_with_faults
from postino.testing.faults_script import FAULTS, draw_script
from postino.testing.simulation.shrinking import Part
from postino.values.content import Content
from postino.values.provider import (
    DERIVED_HANDLE,
    Account,
    Answer,
    Credential,
    Failure,
    FailureKind,
    Found,
    Http,
    Intent,
    LookupResult,
    NotFound,
    Post,
    Promise,
    PromiseClass,
    Published,
    Receipt,
    Tokens,
)
from postino.values.provider import Call as ProviderCall
from tests.documents import ROOT, code, table

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "testing.md"


class Board:
    """A network of class A: the client chooses the key of a post."""

    name = "board"
    promise = Promise(PromiseClass.A, "Postino looks the post up by its key.")
    timeout, listing_delay = timedelta(seconds=10), timedelta(seconds=1)
    credentials: ClassVar = {"token": Credential("Token")}
    limits: ClassVar = {"text": [{"measure": "characters", "most": 500}]}

    async def publish(self, post: Post, call: ProviderCall) -> Published:
        sent = await call.once("post", self.send, post, found=self.find, resend=DERIVED_HANDLE)
        return Published(sent.remote_id, sent.url)

    async def send(self, http: Http, post: Post) -> Receipt | Failure:
        url = f"{post.account.base_url}/posts/{post.id}"
        answer = await http.request("PUT", url, json={"text": post.parts[0]})
        return Receipt(remote_id=str(answer.json()["id"])) if answer.ok else self.classify(answer)

    async def find(self, http: Http, intent: Intent, post: Post) -> LookupResult | Failure:
        answer = await http.request("GET", f"{post.account.base_url}/posts/{post.id}")
        if answer.status == 404:
            return NotFound()
        return Found(Receipt(remote_id=str(answer.json()["id"]))) if answer.ok else self.classify(answer)

    async def refresh(self, account: Account, http: Http) -> Tokens | Failure:
        return Tokens(credentials=account.credentials)

    def classify(self, answer: Answer) -> Failure:
        return Failure(FailureKind.TRANSIENT, f"The board answered {answer.status}.")


class BoardWithoutLookup(Board):
    """Sends again as if nothing had been sent."""

    async def publish(self, post: Post, call: ProviderCall) -> Published:
        receipt = Receipt(**await call.step("post", self.send_as_step, post))
        return Published(receipt.remote_id)

    async def send_as_step(self, http: Http, post: Post) -> dict[str, Any] | Failure:
        answer = await http.request("POST", f"{post.account.base_url}/posts", json={"text": post.parts[0]})
        return {"remote_id": "1"} if answer.ok else self.classify(answer)


class BoardServer:
    def __init__(self) -> None:
        self.posts: dict[str, str] = {}

    def respond(self, request: SentRequest) -> Answer:
        key = request.path.removeprefix("/posts/")
        if request.method == "POST":
            key = str(len(self.posts))
        if request.method != "GET":
            self.posts.setdefault(key, request.json["text"])
        status = 200 if key in self.posts else 404
        return Answer(status, {"content-type": "application/json"}, json.dumps({"id": key}).encode())

    def list_posts(self) -> Iterable[str]:
        return self.posts.values()


class ForgetfulServer(BoardServer):
    """Confirms each post and shows none."""

    def list_posts(self) -> Iterable[str]:
        return ()


def test_network_that_keeps_its_promise_is_clean() -> None:
    report = run_with_faults(Board, BoardServer, seeds=range(4))
    assert report.is_clean, report
    assert report.runs == 4
    assert report.accepted > 20
    assert report == run_with_faults(Board, BoardServer, seeds=range(4))  # the same seeds, the same runs


def test_network_that_repeats_a_visible_call_is_found_and_told() -> None:
    report = run_with_faults(BoardWithoutLookup, BoardServer, seeds=range(6), shrink_runs=20)
    assert report.duplicates
    assert report.violations[0].kind == "twice"
    whole = run_with_faults(BoardWithoutLookup, BoardServer, seeds=[report.violations[0].seed], shrink_runs=0)
    assert len(report.story) < len(whole.story) / 2
    assert sum("sends “Post" in line for line in report.story) == 2
    assert "BROKEN: twice: " in report.story[-1]
    assert report.story[-1] in str(report)


def test_post_that_nobody_sees_is_a_loss() -> None:
    report = run_with_faults(Board, ForgetfulServer, seeds=range(1), faults=(), shrink_runs=0)
    assert {it.kind for it in report.losses} == {"lost"}
    assert not report.duplicates


def test_only_the_given_faults_happen() -> None:
    report = run_with_faults(Board, ForgetfulServer, seeds=range(2), faults=["freeze"], shrink_runs=0)
    assert "all faults end" in str(report)
    assert not any("the network has the fault" in line or "dies" in line for line in report.story)
    script = draw_script(3, ["kill", "drop"], {"publish": 1.0})
    assert {*script.rates} <= {"drop"}
    assert {it.name for it in script.events} <= {"kill"}


def make_app() -> tuple[Postino, list[str]]:
    app, sent = Postino(Config(data_dir=Path("/nonexistent"))), list[str]()

    @app.handler("letter")
    async def send(job: Job, letter: dict[str, str], call: Call) -> None:
        await call.step("print", print_letter)
        sent.append(letter["to"])
        await asyncio.sleep(1)

    async def print_letter(http: Http) -> str:
        return "printed"

    @app.handler("count")
    def count() -> None:
        """Run in a thread, which a simulation does not have."""

    return app, sent


def test_handlers_run_again_after_a_kill_and_no_job_is_lost() -> None:
    app, sent = make_app()
    jobs: list[tuple[str, object]] = [("letter", {"to": "ada"}), ("count", None)]

    def check(jobs: Sequence[Job]) -> Iterable[str]:
        letters = [job for job in jobs if job.type == "letter"]
        return ["unsent: a letter was not sent"] if len(sent) < len(letters) else []

    report = run_with_faults(app, jobs=jobs, seeds=range(5), reset=sent.clear, check=check)
    assert report.is_clean, report
    assert report.repeated > 0
    assert report.questions == 0


def test_sentences_of_a_check_are_violations() -> None:
    app, sent = make_app()

    def check(jobs: Sequence[Job]) -> Iterable[str]:
        return [f"twice: {len(sent)} letters were sent for {len(jobs)} jobs"] if len(sent) > len(jobs) else []

    report = run_with_faults(
        app, jobs=[("letter", {"to": "ada"})], seeds=range(8), faults=["crash"],
        reset=sent.clear, check=check, shrink_runs=0,
    )  # fmt: skip
    assert report.duplicates, "a handler without a visible call may do its work twice"
    assert any(" again" in line for line in report.story)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"subject": Board}, "server: give a model"),
        ({"subject": Board(), "server": BoardServer}, "not an object"),
        ({"subject": Board, "server": BoardServer, "faults": ["fire"]}, "there is no fault 'fire'"),
        ({"subject": Board, "server": BoardServer, "content": lambda _: Content(body="Hello")}, "must contain"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(WrongUse, match=message):
        run_with_faults(**arguments)
    with pytest.raises(WrongUse, match="jobs: give"):
        run_with_faults(make_app()[0])


def test_invalid_declaration_is_refused() -> None:
    class Nameless(Board):
        name = "Board!"

    with pytest.raises(ConfigError, match="name must be small letters"):
        run_with_faults(Nameless, BoardServer, seeds=[1])


def test_script_without_parts_has_no_faults() -> None:
    script = draw_script(1, FAULTS, {"publish": 1.0})
    assert script.acts
    nothing: list[Part] = []
    bare = script.keep(nothing)
    assert (bare.acts, bare.events, bare.rates, bare.workers) == ((), (), {}, 1)
    assert script.keep(script.list_parts()) == replace(script, workers=script.workers)


def test_docs_list_every_fault_and_argument() -> None:
    assert [code(row["fault"]) for row in table(PAGE, "fault", "what happens")] == [*FAULTS]
    parameters = inspect.signature(run_with_faults).parameters
    assert [code(row["argument"]) for row in table(PAGE, "argument", "meaning")] == [*parameters]
