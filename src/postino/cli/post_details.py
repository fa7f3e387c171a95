"""A post and its history, for eyes."""

from collections.abc import Mapping, Sequence
from typing import Any

from postino.cli import output, post_list
from postino.cli.session import Where
from postino.rules.replay import explain_refusal
from postino.rules.settlement import DeadLetterCause

Told = Mapping[str, Any]
COLUMNS = ("ID", "STATUS", "ACCOUNT", "RUN_AT", "PUBLISHED_AT", "ATTEMPTS", "FLAGS", "TEXT", "LAST_ERROR")
FIELDS = (
    "id", "status", "account", "scheduled_at", "run_at", "published_at", "publish_until", "remote_id", "url",
    "attempts", "version", "content_id", "text", "last_error", "cause", "cancelled",
)  # fmt: skip


def show_list(posts: Sequence[Told]) -> None:
    if not output.is_terminal():
        output.table(COLUMNS, [row(told) for told in posts])
    elif posts:
        post_list.show(posts)
    else:
        output.write("There are no such posts.")


def row(told: Told) -> Sequence[output.Cell]:
    return (
        told["id"], told["status"], told["account"], output.at(told["run_at"]), output.at(told["published_at"]),
        told["attempts"], " ".join(told["flags"]) or None, told["text"], post_list.trouble_of(told),
    )  # fmt: skip


def stands(told: Told, done: str = "", timezone: str | None = None) -> str:
    """How it stands now, unless what was done says it."""
    if done == f"is {told['status']}":
        return ""
    when = f", for {output.shown(output.at(told['run_at'], timezone))}" if told["status"] == "scheduled" else ""
    return f": it is now {told['status']}{when}"


def show(told: Told, where: Where) -> None:
    values = {name: output.at(told[name]) if name.endswith(("_at", "_until")) else told[name] for name in FIELDS}
    output.fields(values | dict(told["reasons"]))
    tries = [
        (it["number"], output.at(it["started_at"]), output.at(it["ended_at"]), it["outcome"], it["message"])
        for it in told["history"]
    ]
    if tries:
        output.table(("ATTEMPT", "STARTED_AT", "ENDED_AT", "OUTCOME", "MESSAGE"), tries, title="Attempts")
    calls = [call(intent, told["receipts"]) for intent in told["intents"]]
    if calls:
        output.table(("STEP", "TRY", "LEFT_AT", "VERDICT", "TOLD_BY", "REMOTE_ID", "WHY"), calls, title="Visible calls")
    if steps := next_steps(told):
        output.write("\nWhat you can do")
        for words in steps:
            output.write(f"  {where.command(words)}")


def call(intent: Told, receipts: Sequence[Told]) -> Sequence[output.Cell]:
    """One that left, and what is known to have come of it."""
    mine = [it for it in receipts if (it["step"], it["number"]) == (intent["step"], intent["number"])]
    fact = mine[-1] if mine else {"verdict": "unknown", "source": None, "remote_id": None, "why": None}
    about = (fact["verdict"], fact["source"], fact["remote_id"], fact["why"])
    return (intent["step"], intent["number"], output.at(intent["intended_at"]), *about)


def next_steps(told: Told) -> list[str]:
    post_id = told["id"]
    match told["status"]:
        case "uncertain":
            how = ("--live REMOTE_ID", "--send-again", "--give-up")
            return [f"posts resolve {post_id} {verdict} --reason WHY" for verdict in how]
        case "failed":
            cause = told["cause"]
            force = " --force" if cause and explain_refusal(DeadLetterCause(cause), edited=False, force=False) else ""
            return [f"posts replay {post_id}{force} --reason WHY"]
        case "scheduled":
            ways = ("cancel", "reschedule --at TIME", "edit --text TEXT")
            return [f"posts {way.partition(' ')[0]} {post_id} {way.partition(' ')[2]}".rstrip() for way in ways]
        case _:
            return []
