"""What a person can do about a job that waits, with the command that does it."""

import shlex

from postino.values.gate import Gate, Scope
from postino.values.job import Job
from postino.values.post import POST


def advise_resume(gate: Gate) -> str:
    match gate.scope:
        case Scope.ALL:
            return "Resume everything: `postino queues resume --all`."
        case Scope.QUEUE:
            return f"Resume it: `postino queues resume {gate.name}`."
        case _:
            return f"Resume it: `postino queues resume --{gate.scope} {shlex.quote(gate.name)}`."


def advise_on_cooldown(gate: Gate) -> str:
    sooner = f"`postino queues warm --{gate.scope} {shlex.quote(gate.name)}`"
    return f"Wait: the network asked for it, and may ask for longer if it is called sooner ({sooner})."


def advise_reconnect(account: str) -> str:
    network, _, handle = account.partition(":")
    words = f"{shlex.quote(network)} {shlex.quote(handle)}" if handle else "NETWORK HANDLE"
    return f"Connect it again: `postino accounts add {words}`."


def advise_resolve(job: Job) -> str:
    thing, again = ("posts", "--send-again") if job.type == POST else ("jobs", "--again")
    return (
        "Look whether it is out, and say so:"
        f" `postino {thing} resolve {job.id} --live REMOTE_ID --reason WHY`; or {again}, or --give-up."
    )


def advise_reschedule(job: Job) -> str | None:
    """What has begun to go out has its own times."""
    if job.may_be_live:
        return None
    if job.type == POST:
        return f"To publish it now: `postino posts reschedule {job.id} --now`."
    return f'To run it now: `await app.reschedule("{job.id}", None)`.'
