"""Print posts and their history. `print_posts` writes aligned lines to a pipe, or a table in a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from postino.cli import output, post_terminal_table
from postino.cli.connection import Target
from postino.rules.replay import find_replay_objection
from postino.rules.settlement import DeadLetterCause

JsonDict = Mapping[str, Any]
PIPE_COLUMNS = ("ID", "STATUS", "ACCOUNT", "RUN_AT", "PUBLISHED_AT", "ATTEMPTS", "FLAGS", "TEXT", "LAST_ERROR")
FIELDS = (
    "id", "status", "account", "scheduled_at", "run_at", "published_at", "publish_until", "remote_id", "url",
    "attempts", "version", "content_id", "text", "last_error", "cause", "cancelled",
)  # fmt: skip


def print_posts(posts: Sequence[JsonDict]) -> None:
    if not output.is_terminal():
        output.print_table(PIPE_COLUMNS, [format_pipe_row(post) for post in posts])
    elif posts:
        post_terminal_table.print_terminal_table(posts)
    else:
        output.print_line("No posts match.")


def format_pipe_row(post: JsonDict) -> Sequence[output.Cell]:
    return (
        post["id"], post["status"], post["account"], output.parse_instant(post["run_at"]),
        output.parse_instant(post["published_at"]), post["attempts"],
        " ".join(post["flags"]) or None, post["text"], post_terminal_table.find_current_error(post),
    )  # fmt: skip


def describe_status(post: JsonDict, done: str = "", timezone: str | None = None) -> str:
    """Return the status of a post, unless `done` already says it."""
    if done == f"is {post['status']}":
        return ""
    when = (
        f", for {output.format_cell(output.parse_instant(post['run_at'], timezone))}"
        if post["status"] == "scheduled"
        else ""
    )
    return f" and now {post['status']}{when}"


def print_details(post: JsonDict, target: Target) -> None:
    values = {
        name: output.parse_instant(post[name]) if name.endswith(("_at", "_until")) else post[name] for name in FIELDS
    }
    output.print_fields(values | dict(post["reasons"]))
    attempts = [
        (
            it["number"],
            output.parse_instant(it["started_at"]),
            output.parse_instant(it["ended_at"]),
            it["outcome"],
            it["message"],
        )
        for it in post["history"]
    ]
    if attempts:
        output.print_table(("ATTEMPT", "STARTED_AT", "ENDED_AT", "OUTCOME", "MESSAGE"), attempts, title="Attempts")
    calls = [format_call(intent, post["receipts"]) for intent in post["intents"]]
    if calls:
        output.print_table(
            ("STEP", "CALL", "INTENT_AT", "VERDICT", "SOURCE", "REMOTE_ID", "WHY"), calls, title="Visible calls"
        )
    if steps := next_steps(post):
        output.print_line("\nWhat you can do")
        for words in steps:
            output.print_line(f"  {target.format_command(words)}")


def format_call(intent: JsonDict, receipts: Sequence[JsonDict]) -> Sequence[output.Cell]:
    """Return one visible call with its result, if that is known."""
    matching = [it for it in receipts if (it["step"], it["number"]) == (intent["step"], intent["number"])]
    receipt = matching[-1] if matching else {"verdict": "unknown", "source": None, "remote_id": None, "why": None}
    about = (receipt["verdict"], receipt["source"], receipt["remote_id"], receipt["why"])
    return (intent["step"], intent["number"], output.parse_instant(intent["intended_at"]), *about)


def next_steps(post: JsonDict) -> list[str]:
    post_id = post["id"]
    match post["status"]:
        case "uncertain":
            options = ("--live REMOTE_ID", "--send-again", "--give-up")
            return [f"posts resolve {post_id} {verdict} --reason WHY" for verdict in options]
        case "failed":
            cause = post["cause"]
            force = (
                " --force" if cause and find_replay_objection(DeadLetterCause(cause), edited=False, force=False) else ""
            )
            return [f"posts replay {post_id}{force} --reason WHY"]
        case "scheduled":
            actions = ("cancel", "reschedule --at TIME", "edit --text TEXT")
            return [
                f"posts {action.partition(' ')[0]} {post_id} {action.partition(' ')[2]}".rstrip() for action in actions
            ]
        case _:
            return []
