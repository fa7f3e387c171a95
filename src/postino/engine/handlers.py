"""Handlers of job types: how a handler's payload is parsed, how it is called, and which outcomes are accepted."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from postino.engine.checks import is_storable_time
from postino.engine.threads import Threads
from postino.errors import WrongUse
from postino.rules.retry import RetryOverride
from postino.rules.settlement import print_safely
from postino.values.job import Queue
from postino.values.outcome import Defer, Done, Outcome, Reject, Retry, Unknown

Function = Callable[..., Any]
DONE = Done()
MAX_ARGUMENTS = 3  # job, payload, call


class UnreadablePayload(Exception):
    """The stored bytes are not what the handler expects."""


@dataclass(frozen=True, slots=True)
class Handler:
    """A function for one type of job, with the queue and the retry policy of that type."""

    type: str
    function: Function
    queue: Queue
    override: RetryOverride
    argument_count: int
    is_async: bool  # a plain function runs in a thread
    adapter: TypeAdapter[Any] | None  # None: the handler takes the stored bytes

    def parse_payload(self, payload: bytes) -> Any:
        """Parse the stored bytes into the type that the handler declares. Raises UnreadablePayload."""
        if self.adapter is None:
            return payload
        try:
            return self.adapter.validate_json(payload)
        except ValidationError as error:
            faults = [f"{'.'.join(map(str, fault['loc'])) or 'payload'}: {fault['msg']}" for fault in error.errors()]
            raise UnreadablePayload(f"The payload is not what {self.type} expects: {'; '.join(faults)}.") from error
        except Exception as error:
            raise UnreadablePayload(f"The payload cannot be read as {self.type} expects it: {error!r}.") from error

    async def run(self, threads: Threads, *arguments: Any) -> Outcome:
        """Call the function with as many of these arguments as it takes."""
        arguments = arguments[: self.argument_count]
        if self.is_async:
            result = await self.function(*arguments)
        else:
            result = await threads.run(self.function, *arguments)
        return DONE if result is None else self.check_outcome(result)

    def check_outcome(self, result: object) -> Outcome:
        """Return the result if it is a valid outcome or a subclass of one. Raises TypeError for anything else."""
        match result:
            case Done() | Reject(reason=str()) | Unknown(reason=str(), lookup_at=None):
                return result
            case Unknown(reason=str(), lookup_at=at) if is_storable_time(at):
                return result
            case Unknown(reason=why):
                return Unknown(print_safely(why, str))  # malformed, but a request may have been sent
            case Retry(reason=str(), not_before=None):
                return result
            case Retry(reason=str(), not_before=at) if is_storable_time(at):
                return result
            case Defer(reason=str(), until=at) if is_storable_time(at):
                return result
        expected = "an outcome whose reason is a text and whose times have a time zone, or None"
        raise TypeError(f"The handler of {self.type} must return {expected}, not {result!r:.200}.")


def make_handler(type_: str, function: Function, queue: Queue, override: RetryOverride) -> Handler:
    """Return the handler for a function. Raises WrongUse if the function takes other arguments."""
    parameters = list(inspect.signature(function).parameters.values())
    required = [parameter for parameter in parameters if parameter.default is parameter.empty]
    if len(required) > MAX_ARGUMENTS or any(parameter.kind is parameter.KEYWORD_ONLY for parameter in required):
        signature = inspect.signature(function)
        raise WrongUse(f"handler {function.__name__}: expected (job, payload, call) or fewer, not {signature}.")
    return Handler(
        type_,
        function,
        queue,
        override,
        argument_count=min(len(parameters), MAX_ARGUMENTS),
        is_async=inspect.iscoroutinefunction(function),
        adapter=make_payload_adapter(function, parameters),
    )


def make_payload_adapter(function: Function, parameters: list[inspect.Parameter]) -> TypeAdapter[Any] | None:
    annotation = get_type_hints(function).get(parameters[1].name, Any) if len(parameters) > 1 else Any
    return None if annotation is bytes else TypeAdapter(annotation)
