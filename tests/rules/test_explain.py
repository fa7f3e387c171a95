"""Why a job waits, as a table: the blockers, their order, their times and the advice."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID

import pytest

from postino.rules.blackout import Blackout
from postino.rules.circuit_breaker import Breaker, CircuitState
from postino.rules.explain import (
    BlockerKind,
    Evaluation,
    Explanation,
    JobSnapshot,
    RunningJob,
    UncertainJob,
    evaluate_job,
    explain_job,
)
from postino.rules.gates import GateSources
from postino.rules.settlement import DeadLetterCause
from postino.values.gate import Gate, GateKind, Scope
from postino.values.job import Job, Queue, State
from postino.values.post import POST, AccountState
from postino.values.time_zones import get_zone
from tests.documents import ROOT, code, table

NOW = datetime(2026, 3, 2, 10, 3, tzinfo=UTC)
ID = UUID(int=7)
ADA = "bluesky:ada"


def at(text: str, day: int = 2) -> datetime:
    return datetime.combine(NOW.date().replace(day=day), time.fromisoformat(text), UTC)


def post(**fields: Any) -> Job:
    usual = {
        "id": ID, "type": POST, "channel": "bluesky", "queue": Queue.DEFAULT, "state": State.PENDING, "payload": b"",
        "idempotency_key": "k", "scheduled_at": NOW, "run_at": NOW, "created_at": at("09:00"), "account": ADA,
        "brand": "acme",
    }  # fmt: skip
    return Job(**{**usual, **fields})


def gate(kind: GateKind, scope: Scope = Scope.CHANNEL, name: str = "bluesky", **fields: Any) -> Gate:
    return Gate(scope=scope, name=name, kind=kind, since_at=at("10:02"), **fields)


def blackout(start: str, end: str, scope: Scope = Scope.ALL, name: str = "") -> Blackout:
    begin, over = time.fromisoformat(start), time.fromisoformat(end)
    return Blackout(id=UUID(int=9), scope=scope, name=name, start=begin, end=over, timezone="UTC")


OPEN = Breaker(
    service="bluesky", state=CircuitState.OPEN, since_at=at("10:02"), until_at=at("10:04"), reason="It answered 503."
)


def explain(
    job: Job | None = None, *, now: datetime = NOW, sources: GateSources | None = None, **fields: Any
) -> Explanation:
    return explain_job(JobSnapshot(job=job or post(), gate_sources=sources or GateSources(), **fields), now)


def kinds(explanation: Explanation) -> list[str]:
    return [blocker.kind.value for blocker in explanation.blockers]


SENTENCES: list[tuple[str, Explanation, str]] = [
    ("breaker", explain(sources=GateSources(breakers=(OPEN,))),
     ("This post for bluesky:ada is waiting: the circuit of bluesky is open until 10:04 UTC"
     " (since 2026-03-02 10:02 UTC).")),
    ("rate limit",
     explain(sources=GateSources(gates=(gate(GateKind.COOLDOWN, Scope.ACCOUNT, ADA, until_at=at("10:07:20")),))),
     ("This post for bluesky:ada is waiting: account bluesky:ada is rate-limited by Bluesky until 10:07:20 UTC"
     " (since 2026-03-02 10:02 UTC).")),
    ("pause", explain(sources=GateSources(gates=(gate(GateKind.PAUSE, Scope.BRAND, "acme", reason="recall"),))),
     ("This post for bluesky:ada is waiting: brand acme is paused (since 2026-03-02 10:02 UTC)."
     " It continues when somebody resumes it.")),
    ("token", explain(sources=GateSources(gates=(gate(GateKind.TOKEN, Scope.ACCOUNT, ADA),))),
     ("This post for bluesky:ada is waiting: account bluesky:ada must be reconnected (since 2026-03-02 10:02 UTC)."
     " It continues when the account is reconnected.")),
    ("suspended",
     explain(sources=GateSources(gates=(gate(GateKind.TOKEN, Scope.ACCOUNT, ADA, reason="Taken down."),)),
             account_state=AccountState.SUSPENDED),
     ("This post for bluesky:ada is waiting: account bluesky:ada is suspended by Bluesky (since 2026-03-02 10:02 UTC)."
     " It continues when somebody resumes or reconnects the account.")),
    ("locked",
     explain(sources=GateSources(gates=(gate(GateKind.TOKEN, Scope.ACCOUNT, ADA),)),
             account_state=AccountState.LOCKED),
     ("This post for bluesky:ada is waiting: no vault key opens the credentials of account bluesky:ada"
     " (since 2026-03-02 10:02 UTC). It continues when the vault key is back, or the account is reconnected.")),
    ("blackout", explain(sources=GateSources(blackouts=(blackout("22:00", "11:30"),))),
     ("This post for bluesky:ada is waiting: a blackout covers everything until 11:30 UTC"
     " (since 2026-03-01 22:00 UTC).")),
    ("not due", explain(post(run_at=at("18:00", day=5))),
     "This post for bluesky:ada is due at 2026-03-05 18:00 UTC."),
    ("not due, in a blackout", explain(post(run_at=at("23:00")), sources=GateSources(blackouts=(blackout("22:00",
     "07:00"),))),
     ("This post for bluesky:ada is due at 23:00 UTC, but will wait: a blackout covers everything until"
     " 2026-03-03 07:00 UTC (since 2026-03-02 22:00 UTC).")),
    ("retried", explain(post(run_at=at("10:05"), attempts=1, last_error="It answered 500.")),
     "This post for bluesky:ada will be retried at 10:05 UTC (It answered 500)."),
    ("looked up", explain(post(state=State.UNCERTAIN, may_be_live=True, run_at=at("10:04:10"))),
     ("Postino does not know yet whether this post for bluesky:ada was published."
     " It asks the network at 10:04:10 UTC.")),
    ("a person", explain(post(state=State.UNCERTAIN, may_be_live=True, run_at=None)),
     "Only a person can tell whether this post for bluesky:ada was published. Check it, then resolve it."),
    ("cap", explain(sources=GateSources(caps={"bluesky": 2}), running_by_brand={"acme": 1, "": 1}),
     ("This post for bluesky:ada is waiting: all 2 slots of bluesky are in use."
     " It continues as soon as a slot is free.")),
    ("no worker", explain(live_workers=0),
     "This post for bluesky:ada is waiting: no worker is running. It continues when a worker starts."),
    ("lag", explain(post(run_at=at("10:00")), jobs_ahead=3),
     "This post for bluesky:ada has been due since 2026-03-02 10:00 UTC: 3 earlier jobs are ahead of it."),
    ("any moment", explain(), "This post for bluesky:ada is due and starts at any moment."),
    ("running", explain(post(state=State.RUNNING, claimed_by="w1", claimed_at=at("10:02:59"))),
     "Worker w1 has been publishing this post for bluesky:ada since 2026-03-02 10:02:59 UTC."),
    ("published", explain(post(state=State.COMPLETED, finished_at=at("09:59:30"))),
     "This post for bluesky:ada was published at 2026-03-02 09:59:30 UTC."),
    ("cancelled", explain(post(state=State.CANCELLED, finished_at=at("09:00"))),
     "This post for bluesky:ada was cancelled at 2026-03-02 09:00 UTC. This is final."),
    ("failed", explain(post(state=State.FAILED, finished_at=at("09:00"), last_error="Too long.")),
     ("This post for bluesky:ada failed at 2026-03-02 09:00 UTC: Too long. To replay it:"
     f" `postino posts replay {ID} --reason WHY`.")),
    ("rejected", explain(post(state=State.FAILED, finished_at=at("09:00"), last_error="Blocked."),
     cause=DeadLetterCause.PERMANENT),
     ("This post for bluesky:ada failed at 2026-03-02 09:00 UTC: Blocked. It fails again unless the cause is"
     f" fixed. To replay it: `postino posts replay {ID} --force --reason WHY`.")),
    ("cancelled by somebody", explain(post(state=State.CANCELLED, finished_at=at("09:00")),
     cancelled_by="by maria (recall)"),
     "This post for bluesky:ada was cancelled at 2026-03-02 09:00 UTC by maria (recall). This is final."),
    ("a job", explain(post(type="report", channel="reports", account=None, brand=None, run_at=at("11:00"))),
     "This job of reports is due at 11:00 UTC."),
    ("missed", explain(post(run_at=at("10:05")), publish_until_at=at("10:05")),
     ("This post for bluesky:ada is due at 10:05 UTC. It must not be published after 10:05 UTC: reschedule"
     " it, or it will be missed.")),
]  # fmt: skip


@pytest.mark.parametrize(("explanation", "sentence"), [row[1:] for row in SENTENCES], ids=[row[0] for row in SENTENCES])
def test_the_explanation_is_one_plain_sentence(explanation: Explanation, sentence: str) -> None:
    assert explanation.sentence == sentence


def test_times_are_shown_in_the_requested_zone() -> None:
    facts = JobSnapshot(job=post(), gate_sources=GateSources(breakers=(OPEN,)))
    assert explain_job(facts, NOW, get_zone("Asia/Tokyo")).sentence.endswith(
        "is open until 19:04 Asia/Tokyo (since 2026-03-02 19:02 Asia/Tokyo)."
    )


def test_blockers_are_ranked_by_importance() -> None:
    shut = [gate(kind, until_at=at("12:00")) for kind in (GateKind.QUOTA, GateKind.COOLDOWN, GateKind.PAUSE)]
    shut.append(gate(GateKind.TOKEN, Scope.ACCOUNT, ADA))
    sources = GateSources(tuple(shut), (blackout("09:00", "13:00"),), (OPEN,), {"bluesky": 1})
    explanation = explain(sources=sources, running_by_brand={"": 1}, live_workers=0)
    ranked = ["pause", "blackout", "breaker", "cooldown", "quota", "cap", "token", "no_worker"]
    assert kinds(explanation) == ranked
    assert not explanation.runnable
    assert explanation.eta is None


def test_a_blocker_has_times_a_cause_and_advice() -> None:
    [blocker] = explain(sources=GateSources(breakers=(OPEN,))).blockers
    assert (blocker.since_at, blocker.until_at, blocker.cause) == (at("10:02"), at("10:04"), "It answered 503.")
    assert (
        blocker.unblock == "If bluesky works again, close the circuit: `postino circuits close bluesky --reason WHY`."
    )


REMEDIES = [
    (gate(GateKind.PAUSE, Scope.BRAND, "two words"), "`postino queues resume --brand 'two words'`"),
    (gate(GateKind.PAUSE, Scope.QUEUE, "default"), "`postino queues resume default`"),
    (gate(GateKind.PAUSE, Scope.ALL, ""), "`postino queues resume --all`"),
    (gate(GateKind.TOKEN, Scope.ACCOUNT, ADA), "`postino accounts reconnect bluesky:ada`"),
    (gate(GateKind.COOLDOWN, until_at=at("11:00")), "`postino queues end-cooldown --channel bluesky`"),
    (gate(GateKind.QUOTA, until_at=at("11:00")), "another account"),
]


@pytest.mark.parametrize(("shut", "words"), REMEDIES)
def test_the_advice_names_the_command(shut: Gate, words: str) -> None:
    [blocker] = explain(post(brand="two words"), sources=GateSources((shut,))).blockers
    assert words in (blocker.unblock or "")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (AccountState.SUSPENDED, "lifted the suspension, resume it: `postino accounts resume bluesky:ada`"),
        (AccountState.LOCKED, "Put the right vault key back; the posts then go out."),
    ],
)
def test_advice_on_a_held_account_depends_on_its_state(state: AccountState, words: str) -> None:
    shut = gate(GateKind.TOKEN, Scope.ACCOUNT, ADA)
    [blocker] = explain(sources=GateSources((shut,)), account_state=state).blockers
    assert words in (blocker.unblock or "")


def test_a_blackout_is_removed_by_its_id() -> None:
    windows = (replace(blackout("12:00", "13:00"), id=UUID(int=8)), blackout("09:00", "13:00"))
    [blocker] = explain(sources=GateSources(blackouts=windows)).blockers
    assert blocker.unblock == (f"To publish it anyway, remove the blackout: `postino blackouts remove {UUID(int=9)}`.")
    assert blocker.cause == "every day 09:00–13:00 UTC, for everything"


@pytest.mark.parametrize(("type_", "words"), [(POST, "posts resolve"), ("report", "jobs resolve")])
def test_an_uncertain_job_says_how_to_resolve_it(type_: str, words: str) -> None:
    [blocker] = explain(
        post(type=type_, state=State.UNCERTAIN, may_be_live=True, run_at=None, last_error="No answer.")
    ).blockers
    assert (blocker.kind, blocker.until_at, blocker.cause) == (BlockerKind.AWAITING_LOOKUP, None, "No answer.")
    assert f"`postino {words} {ID} --live REMOTE_ID --reason WHY`" in (blocker.unblock or "")


def test_only_network_gates_block_a_started_post() -> None:
    shut = (gate(GateKind.PAUSE), gate(GateKind.COOLDOWN, until_at=at("11:00")))
    sources = GateSources(shut, (blackout("09:00", "13:00"),))
    assert kinds(explain(post(may_be_live=True), sources=sources)) == ["cooldown"]
    assert explain(post(may_be_live=True), sources=sources).eta == at("11:00")


def test_all_gates_block_a_started_job_without_a_lane() -> None:
    bulk = post(may_be_live=True, account=None, brand=None)
    assert kinds(explain(bulk, sources=GateSources((gate(GateKind.PAUSE),)))) == ["pause"]


def test_a_post_that_ignores_blackouts_is_runnable_in_one() -> None:
    assert explain(post(ignore_blackouts=True), sources=GateSources(blackouts=(blackout("09:00", "13:00"),))).runnable


def test_a_gate_that_opens_before_the_job_is_due_does_not_block_it() -> None:
    explanation = explain(
        post(run_at=at("11:00")), sources=GateSources(breakers=(OPEN,), caps={"bluesky": 1}), running_by_brand={"": 1}
    )
    assert kinds(explanation) == ["not_due"]
    assert explanation.eta == at("11:00")


def test_a_circuit_that_reopens_in_a_blackout_waits_for_its_end() -> None:
    sources = GateSources(breakers=(OPEN,), blackouts=(blackout("10:03:30"[:5], "10:30"), blackout("10:30", "11:00")))
    assert explain(sources=sources).eta == at("11:00")


def test_blackouts_without_a_gap_have_no_eta() -> None:
    windows = (blackout("00:00", "12:00"), blackout("12:00", "00:00"))
    assert explain(sources=GateSources(blackouts=windows)).eta is None


def test_the_eta_assumes_that_running_jobs_have_ended() -> None:
    cool = gate(GateKind.COOLDOWN, until_at=at("10:20"))
    explanation = explain(sources=GateSources((cool,), caps={"bluesky": 1}), running_by_brand={"": 1})
    assert kinds(explanation) == ["cooldown", "cap"]
    assert explanation.eta == at("10:20")


def test_an_account_runs_one_post_at_a_time() -> None:
    busy = RunningJob(UUID(int=3), "w1", at("10:01"))
    doubts = (UncertainJob("acme", f"@{ADA}", at("10:10")), UncertainJob("acme", "@another", at("10:50")))
    explanation = explain(running_job=busy, uncertain_jobs=doubts)
    assert kinds(explanation) == ["cap", "cap"]
    assert explanation.blockers[0].cause == f"{UUID(int=3)}, on worker w1"
    assert explanation.eta == at("10:10")


def test_an_uncertain_request_holds_its_slot_until_it_cannot_arrive() -> None:
    doubts = tuple(UncertainJob("", None, at(text)) for text in ("10:30", "10:10", "10:20"))
    sources, running = GateSources(caps={"bluesky": 2}), {"": 3}
    explanation = explain(sources=sources, running_by_brand=running, uncertain_jobs=doubts)
    assert kinds(explanation) == ["cap"]
    assert explanation.eta == explanation.blockers[0].until_at == at("10:20")


@pytest.mark.parametrize(
    ("cap", "running", "brand", "waits"),
    [
        (3, {"acme": 2}, "acme", True),
        (3, {"acme": 2}, None, False),
        (3, {"acme": 1}, "acme", False),
        (1, {}, "acme", False),
        (1, {"": 1}, "acme", True),
        (0, {}, None, True),
    ],
)
def test_a_full_channel_or_a_used_up_brand_share_blocks_a_job(
    cap: int, running: dict[str, int], brand: str | None, waits: bool
) -> None:
    explanation = explain(post(brand=brand), sources=GateSources(caps={"bluesky": cap}), running_by_brand=running)
    assert kinds(explanation) == (["cap"] if waits else [])
    assert explanation.runnable is not waits


def test_a_half_open_circuit_limits_the_number_of_probes() -> None:
    half = replace(OPEN, state=CircuitState.HALF_OPEN)
    explanation = explain(sources=GateSources(breakers=(half,), caps={"bluesky": 50}), running_by_brand={"": 1})
    assert explanation.blockers[0].sentence == ("The circuit of bluesky is half-open and allows 1 at a time.")


@pytest.mark.parametrize(
    ("waited", "ahead", "words"),
    [
        (5, 3, None),
        (6, 0, "No worker has claimed it yet."),
        (6, 3, "3 earlier jobs are ahead of it."),
        (6, 1001, "More than 1,000 earlier jobs are ahead of it."),
    ],
)
def test_a_due_job_without_a_blocker_lags_after_five_seconds(waited: int, ahead: int, words: str | None) -> None:
    explanation = explain(post(run_at=NOW - timedelta(seconds=waited)), jobs_ahead=ahead)
    assert explanation.runnable
    assert explanation.eta == NOW
    assert kinds(explanation) == ([] if words is None else ["lag"])
    assert words is None or words in explanation.blockers[0].sentence


def test_without_a_worker_there_is_no_eta() -> None:
    explanation = explain(live_workers=0)
    assert (kinds(explanation), explanation.runnable, explanation.eta) == (["no_worker"], True, None)


def test_evaluation_counts_the_blockers_at_the_due_time() -> None:
    sources = GateSources((gate(GateKind.COOLDOWN, until_at=at("10:20")),), (blackout("12:00", "13:00"),))
    when = {"10:19": ["cooldown"], "10:20": [], "12:30": ["blackout"], "13:00": []}
    for text, expected in when.items():
        evaluation = evaluate_job(
            JobSnapshot(job=post(run_at=at(text)), gate_sources=sources, live_workers=0), False, NOW
        )
        assert [blocker.kind.value for blocker in evaluation.blockers] == expected, text
        assert (evaluation.runnable, evaluation.in_blackout) == (not expected, "blackout" in expected)


def test_a_collision_is_reported_but_does_not_block() -> None:
    assert evaluate_job(JobSnapshot(job=post()), True, NOW) == Evaluation(True, False, True)


def test_the_docs_list_every_blocker_in_order() -> None:
    rows = table(ROOT / "docs" / "operating.md", "blocker", "meaning", "what unblocks it")
    assert [code(row["blocker"]) for row in rows] == list(BlockerKind)
