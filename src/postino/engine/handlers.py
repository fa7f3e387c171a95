"""Handlers by job type: what they are called with, and how their payload is read."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from postino.engine.job_spec import is_instant
from postino.engine.threads import Threads
from postino.errors import WrongUse
from postino.rules.retry import Override
from postino.rules.settlement import printed
from postino.values.job import Queue
from postino.values.outcome import Defer, Done, Outcome, Reject, Retry, Unknown

Function = Callable[..., Any]
DONE = Done()
MOST_ARGUMENTS = 3  # job, payload, call


class UnreadablePayload(Exception):
    """The stored bytes are not what the handler expects."""


@dataclass(frozen=True, slots=True)
class Handler:
    """A function for one type of job, and what its type says about queue and retries."""

    type: str
    function: Function
    queue: Queue
    override: Override
    arguments: int
    waits: bool  # asynchronous; a plain function runs in a thread
    adapter: TypeAdapter[Any] | None  # None: the bytes as they are

    def parse_payload(self, payload: bytes) -> Any:
        if self.adapter is None:
            return payload
        try:
            return self.adapter.validate_json(payload)
        except ValidationError as error:
            wrong = [f"{'.'.join(map(str, fault['loc'])) or 'payload'}: {fault['msg']}" for fault in error.errors()]
            raise UnreadablePayload(f"The payload is not what {self.type} expects: {'; '.join(wrong)}.") from error
        except Exception as error:
            raise UnreadablePayload(f"The payload cannot be read as {self.type} expects it: {error!r}.") from error

    async def run(self, threads: Threads, *arguments: Any) -> Outcome:
        arguments = arguments[: self.arguments]
        if self.waits:
            result = await self.function(*arguments)
        else:
            result = await threads.run(self.function, *arguments)
        return DONE if result is None else self.sound(result)

    def sound(self, result: object) -> Outcome:
        """The outcome, if it is one that can be acted upon."""
        match result:
            case Done() | Reject(reason=str()) | Unknown(reason=str(), look_at=None):
                return result
            case Unknown(reason=str(), look_at=at) if is_instant(at):
                return result
            case Unknown(reason=why):
                return Unknown(printed(why, str))  # whatever is wrong with it, what may have left must not be repeated
            case Retry(reason=str(), not_before=None):
                return result
            case Retry(reason=str(), not_before=at) if is_instant(at):
                return result
            case Defer(reason=str(), until=at) if is_instant(at):
                return result
        wanted = "an outcome with a text as its reason and times with a time zone, or None"
        raise TypeError(f"The handler of {self.type} must return {wanted}, not {result!r:.200}.")


def make_handler(type_: str, function: Function, queue: Queue, override: Override) -> Handler:
    parameters = list(inspect.signature(function).parameters.values())
    required = [parameter for parameter in parameters if parameter.default is parameter.empty]
    if len(required) > MOST_ARGUMENTS or any(parameter.kind is parameter.KEYWORD_ONLY for parameter in required):
        given = inspect.signature(function)
        raise WrongUse(f"handler {function.__name__}: takes (job, payload, call) or fewer, not {given}.")
    return Handler(
        type_,
        function,
        queue,
        override,
        arguments=min(len(parameters), MOST_ARGUMENTS),
        waits=inspect.iscoroutinefunction(function),
        adapter=payload_adapter(function, parameters),
    )


def payload_adapter(function: Function, parameters: list[inspect.Parameter]) -> TypeAdapter[Any] | None:
    annotation = get_type_hints(function).get(parameters[1].name, Any) if len(parameters) > 1 else Any
    return None if annotation is bytes else TypeAdapter(annotation)
