"""The application behind `postino up`: one handler, which does as its job says. Nothing leaves this machine."""

import asyncio

from postino.cli.examples import TYPE, Example
from postino.job import Job
from postino.outcome import Done, Outcome, Reject, Retry, Unknown
from postino.rules.retry import Schedule
from postino.wiring import Postino

app = Postino()


@app.handler(TYPE, max_attempts=3, backoff=Schedule([1, 1.5]))
async def act_out(job: Job, example: Example) -> Outcome:
    await asyncio.sleep(example.seconds)
    failing = job.attempts <= example.failures
    match example.ending:
        case "away" if failing:
            return Retry("The network answered 503, come back later.")
        case "lost" if failing:
            raise ConnectionResetError("the network hung up before it had everything")
        case "reject":
            return Reject("The caption has 2,345 characters; the network takes 2,200.")
        case "unknown" if job.attempts == 1:
            return Unknown("Sent, but the line went dead before the answer: it may be out.")
        case _:
            return Done(remote_id=f"example-{job.id.hex[-8:]}")
