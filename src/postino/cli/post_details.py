"""A post and its history, for eyes."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from postino.cli import output, post_list
from postino.cli.session import Where
from postino.errors import Conflict

COLUMNS = ("ID", "STATUS", "ACCOUNT", "RUN_AT", "PUBLISHED_AT", "ATTEMPTS", "FLAGS", "TEXT", "LAST_ERROR")
FIELDS = (
    "id", "status", "account", "scheduled_at", "run_at", "published_at", "publish_until", "remote_id", "url",
    "attempts", "version", "content_id", "text", "last_error",
)  # fmt: skip


def show_list(posts: Sequence[dict[str, Any]]) -> None:
    if not output.is_terminal():
        output.table(COLUMNS, [row(told) for told in posts])
    elif posts:
        post_list.show(posts)
    else:
        output.write("There are no such posts.")


def row(told: dict[str, Any]) -> Sequence[output.Cell]:
    return (
        told["id"], told["status"], told["account"], instant(told["run_at"]), instant(told["published_at"]),
        told["attempts"], " ".join(told["flags"]) or None, told["text"], post_list.trouble_of(told),
    )  # fmt: skip


def instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def stands(told: dict[str, Any], done: str = "") -> str:
    """How it stands now, unless what was done says it."""
    if done == f"is {told['status']}":
        return ""
    return f": it is now {told['status']}" + (f", for {told['run_at'][:19]}Z" if told["status"] == "scheduled" else "")


def show(told: dict[str, Any], where: Where) -> None:
    values = {name: instant(told[name]) if name.endswith(("_at", "_until")) else told[name] for name in FIELDS}
    output.fields(values | dict(told["reasons"]))
    tries = [
        (it["number"], instant(it["started_at"]), instant(it["ended_at"]), it["outcome"], it["message"])
        for it in told["history"]
    ]
    if tries:
        output.table(("ATTEMPT", "STARTED_AT", "ENDED_AT", "OUTCOME", "MESSAGE"), tries, title="Attempts")
    calls = [call(intent, told["receipts"]) for intent in told["intents"]]
    if calls:
        output.table(("STEP", "TRY", "LEFT_AT", "VERDICT", "TOLD_BY", "REMOTE_ID", "WHY"), calls, title="Visible calls")
    if output.is_terminal() and (steps := next_steps(told)):
        output.write("\nWhat you can do")
        for words in steps:
            output.write(f"  {where.command(words)}")


def call(intent: dict[str, Any], receipts: Sequence[dict[str, Any]]) -> Sequence[output.Cell]:
    """One that left, and what is known to have come of it."""
    mine = [it for it in receipts if (it["step"], it["number"]) == (intent["step"], intent["number"])]
    fact = mine[-1] if mine else {"verdict": "unknown", "told_by": None, "remote_id": None, "why": None}
    about = (fact["verdict"], fact["told_by"], fact["remote_id"], fact["why"])
    return (intent["step"], intent["number"], instant(intent["intended_at"]), *about)


def next_steps(told: dict[str, Any]) -> list[str]:
    post_id = told["id"]
    match told["status"]:
        case "uncertain":
            how = ("--live REMOTE_ID", "--send-again", "--give-up")
            return [f"posts resolve {post_id} {verdict} --reason WHY" for verdict in how]
        case "failed":
            return [f"posts replay {post_id}"]
        case "scheduled":
            ways = ("cancel", "reschedule --at TIME", "edit --text TEXT")
            return [f"posts {way.partition(' ')[0]} {post_id} {way.partition(' ')[2]}".rstrip() for way in ways]
        case _:
            return []


def refused(refusal: Conflict, post_id: UUID) -> Conflict:
    """A refusal in the words of posts: who publishes does not know of jobs."""
    said = str(refusal).replace(f"Job {post_id}", f"Post {post_id}")
    anew = "say --force if what was in the way is gone, or publish it anew with another text"
    return Conflict(said.replace("edit its payload, or force it", anew))
