"""Answers as openapi.json tells them: the shapes by their names, refusals as problem details, and every header."""

import re
from functools import cache
from http import HTTPStatus
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from postino.api.answers import ANSWERS, EVENTS
from postino.api.refusing import FREE, REASONS, SIGNS_IN, refusals_of
from postino.client.types.errors import ProblemDetailsView

Told = dict[str, Any]
PLACE = "#/components/schemas/{model}"
PAGE = re.compile(r"\bPage_(\w+?)_")
VIEW = re.compile(r"^(#/components/schemas/)?(\w+)View(Page)?$")
# What FastAPI would say of refusals is none of its own here: 422 is one of ours, told below.
RESPONSES: dict[int | str, Told] = {"default": {"description": "A refusal."}}
WHOLE = {"type": "integer", "minimum": 0}
HEADERS: dict[str, Told] = {
    "X-Request-Id": {
        "description": "By which logs and problems know this request: the one that was given, or one of its own.",
        "required": True,
        "schema": {"type": "string", "minLength": 1, "maxLength": 128},
    },
    "RateLimit-Limit": {"description": "How many requests are taken at once.", "schema": WHOLE},
    "RateLimit-Remaining": {"description": "How many more of them may be made now.", "schema": WHOLE},
    "RateLimit-Reset": {"description": "In how many seconds all of them may be made again.", "schema": WHOLE},
    "Retry-After": {
        "description": "In how many seconds it may be asked again.",
        "required": True,
        "schema": WHOLE,
    },
    "WWW-Authenticate": {"description": "How to be let in.", "required": True, "schema": {"type": "string"}},
    "Set-Cookie": {"description": "The cookie of the session.", "schema": {"type": "string"}},
}
LIMITS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")


class Plainly(GenerateJsonSchema):
    """A field's name says enough: no title repeats it."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@cache
def told_shapes() -> tuple[dict[int, Told], dict[str, Told]]:
    """Each shape as it is pointed to, by its identity, and all of them by their names."""
    every = [shape for shapes in ANSWERS.values() for shape in shapes.values() if shape not in (None, EVENTS)]
    every.append(ProblemDetailsView)
    adapters = [(id(shape), "serialization", TypeAdapter(shape)) for shape in every]
    pointers, found = TypeAdapter.json_schemas(
        adapters,  # type: ignore[arg-type]
        ref_template=PLACE,
        schema_generator=Plainly,
    )
    named = {one: renamed(pointer) for (one, _), pointer in pointers.items()}
    return named, renamed(found["$defs"])


def renamed(told: Any) -> Any:
    """`PostPage` for a page of posts; what only repeats a name is left out."""
    match told:
        case dict():
            parts = [(name, part) for name, part in told.items() if name != "title" or not isinstance(part, str)]
            return {schema_name(name): renamed(part) for name, part in parts}
        case list():
            return [renamed(part) for part in told]
        case str():
            return schema_name(told)
        case _:
            return told


def schema_name(name: str) -> str:
    """Return the public name of a response type: `PostPage` for `Page[PostView]`."""
    return VIEW.sub(r"\1\2\3", PAGE.sub(r"\1Page", name))


def components() -> dict[str, Told]:
    refusals = {name: refusal("", status) for status, (name, _) in REASONS.items()}
    return {"schemas": told_shapes()[1], "headers": HEADERS, "responses": refusals}


def responses_of(method: str, path: str) -> Told:
    """A route without a row tells of its refusals only, and fails its test."""
    answers = {str(status): answer(path, status, shape) for status, shape in ANSWERS.get((method, path), {}).items()}
    return answers | {str(status): pointer(path, status) for status in refusals_of(method, path)}


def pointer(path: str, status: int) -> Told:
    """Most refuse alike."""
    told = refusal(path, status)
    return told if told != refusal("", status) else {"$ref": f"#/components/responses/{REASONS[status][0]}"}


def answer(path: str, status: int, shape: Any) -> Told:
    told: Told = {"description": HTTPStatus(status).phrase, "headers": headers_of(path, status)}
    match shape:
        case None:
            return told
        case str():
            return told | {"content": {shape: {"schema": {"type": "string"}}}}
        case _:
            return told | {"content": {"application/json": {"schema": told_shapes()[0][id(shape)]}}}


def refusal(path: str, status: int) -> Told:
    schema = {"$ref": PLACE.format(model=schema_name(ProblemDetailsView.__name__))}
    content = {"application/problem+json": {"schema": schema}}
    return {"description": REASONS[status][1], "headers": headers_of(path, status), "content": content}


def headers_of(path: str, status: int) -> Told:
    names = ["X-Request-Id"]
    if not path.startswith(FREE):
        names += LIMITS
    if status in (429, 503):
        names.append("Retry-After")
    if status == HTTPStatus.UNAUTHORIZED and path != SIGNS_IN:
        names.append("WWW-Authenticate")
    if path == SIGNS_IN and status == HTTPStatus.OK:
        names.append("Set-Cookie")
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
