"""A post and its history, for eyes."""

from collections.abc import Mapping, Sequence
from typing import Any

from postino.cli import output, post_table
from postino.cli.connection import Target
from postino.rules.replay import explain_refusal
from postino.rules.settlement import DeadLetterCause

JsonDict = Mapping[str, Any]
COLUMNS = ("ID", "STATUS", "ACCOUNT", "RUN_AT", "PUBLISHED_AT", "ATTEMPTS", "FLAGS", "TEXT", "LAST_ERROR")
FIELDS = (
    "id", "status", "account", "scheduled_at", "run_at", "published_at", "publish_until", "remote_id", "url",
    "attempts", "version", "content_id", "text", "last_error", "cause", "cancelled",
)  # fmt: skip


def show_list(posts: Sequence[JsonDict]) -> None:
    if not output.is_terminal():
        output.print_table(COLUMNS, [row(told) for told in posts])
    elif posts:
        post_table.show(posts)
    else:
        output.print_line("There are no such posts.")


def row(told: JsonDict) -> Sequence[output.Cell]:
    return (
        told["id"], told["status"], told["account"], output.parse_instant(told["run_at"]),
        output.parse_instant(told["published_at"]), told["attempts"],
        " ".join(told["flags"]) or None, told["text"], post_table.current_error(told),
    )  # fmt: skip


def stands(told: JsonDict, done: str = "", timezone: str | None = None) -> str:
    """How it stands now, unless what was done says it."""
    if done == f"is {told['status']}":
        return ""
    when = (
        f", for {output.format_cell(output.parse_instant(told['run_at'], timezone))}"
        if told["status"] == "scheduled"
        else ""
    )
    return f": it is now {told['status']}{when}"


def show(told: JsonDict, target: Target) -> None:
    values = {
        name: output.parse_instant(told[name]) if name.endswith(("_at", "_until")) else told[name] for name in FIELDS
    }
    output.print_fields(values | dict(told["reasons"]))
    tries = [
        (
            it["number"],
            output.parse_instant(it["started_at"]),
            output.parse_instant(it["ended_at"]),
            it["outcome"],
            it["message"],
        )
        for it in told["history"]
    ]
    if tries:
        output.print_table(("ATTEMPT", "STARTED_AT", "ENDED_AT", "OUTCOME", "MESSAGE"), tries, title="Attempts")
    calls = [call(intent, told["receipts"]) for intent in told["intents"]]
    if calls:
        output.print_table(
            ("STEP", "TRY", "LEFT_AT", "VERDICT", "TOLD_BY", "REMOTE_ID", "WHY"), calls, title="Visible calls"
        )
    if steps := next_steps(told):
        output.print_line("\nWhat you can do")
        for words in steps:
            output.print_line(f"  {target.format_command(words)}")


def call(intent: JsonDict, receipts: Sequence[JsonDict]) -> Sequence[output.Cell]:
    """One that left, and what is known to have come of it."""
    mine = [it for it in receipts if (it["step"], it["number"]) == (intent["step"], intent["number"])]
    fact = mine[-1] if mine else {"verdict": "unknown", "told_by": None, "remote_id": None, "why": None}
    about = (fact["verdict"], fact["told_by"], fact["remote_id"], fact["why"])
    return (intent["step"], intent["number"], output.parse_instant(intent["intended_at"]), *about)


def next_steps(told: JsonDict) -> list[str]:
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
