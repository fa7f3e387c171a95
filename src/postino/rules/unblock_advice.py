"""Advise people how to unblock a waiting job, with the command that does it."""

import shlex

from postino.values.gate import Gate, Scope
from postino.values.job import Job
from postino.values.post import POST

ADVICE_ON_DATABASE = "Say what the database is: run `postino database show`."


def advise_resume(gate: Gate) -> str:
    match gate.scope:
        case Scope.ALL:
            return "Resume everything: `postino queues resume --all`."
        case Scope.QUEUE:
            return f"Resume it: `postino queues resume {gate.name}`."
        case _:
            return f"Resume it: `postino queues resume --{gate.scope} {shlex.quote(gate.name)}`."


def advise_on_cooldown(gate: Gate) -> str:
    command = f"postino queues end-cooldown --{gate.scope} {shlex.quote(gate.name)}"
    return f"Wait: an earlier call may extend the rate limit. To end the cooldown anyway: `{command}`."


def advise_reconnect(account: str) -> str:
    return f"Reconnect it: `postino accounts reconnect {shlex.quote(account)}`."


def advise_on_suspension(account: str) -> str:
    command = f"postino accounts resume {shlex.quote(account)}"
    return f"When the network has lifted the suspension, resume it: `{command}`."


def advise_on_locked(account: str) -> str:
    command = f"postino accounts reconnect {shlex.quote(account)}"
    return f"Put the right vault key back; the posts then go out. If every copy is lost, reconnect it: `{command}`."


def advise_handler(type_: str) -> str:
    if type_ == POST:
        return "Start a worker: `postino worker`."
    return "Start a worker that handles them: `postino worker --app module:attr`."


def advise_close(service: str) -> str:
    return f"If {service} works again, close the circuit: `postino circuits close {shlex.quote(service)} --reason WHY`."


def advise_raise_cap(channel: str, cap: int) -> str:
    return f"Raise the cap: `postino queues cap {shlex.quote(channel)} {max(1, 2 * cap)}`."


def advise_resolve(job: Job) -> str:
    """Advise a person who has to find out what happened to an uncertain job."""
    command, done = ("posts", "published") if job.type == POST else ("jobs", "done")
    return (
        f"Check whether it was {done}, then resolve it:"
        f" `postino {command} resolve {job.id} --live REMOTE_ID --reason WHY`, or with --send-again or --give-up."
    )


def advise_reschedule(job: Job) -> str | None:
    """Advise how to run a job earlier; a job that may be live cannot be rescheduled."""
    if job.may_be_live:
        return None
    if job.type == POST:
        return f"To publish it now: `postino posts reschedule {job.id} --now`."
    return f'To run it now: `await app.reschedule("{job.id}", None)`.'
