"""What a client's method is said to answer is what its route announces: one shape, written once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from inspect import Parameter, signature
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from postino.api.answers import ANSWERS, EVENTS
from postino.client import Client
from postino.client.api import Api
from postino.client.endpoints import EndpointMethod, Resource
from postino.client.job_shapes import Event
from postino.client.messages import ApiRequest
from tests.api.openapi_check import operation_at

SOMEBODY = "01932c07-5b1e-7cc3-98c4-dc0c0c07398f"
HOUSE = Client("http://127.0.0.1:1")


def methods() -> Iterator[Any]:
    rooms = {"": HOUSE, **{name: room for name, room in vars(HOUSE).items() if isinstance(room, Resource)}}
    for place, room in rooms.items():
        kind = Api if room is HOUSE else type(room)
        for name, method in vars(kind).items():
            if isinstance(method, EndpointMethod):
                yield pytest.param(room, method.build, id=f"{place}.{name}".removeprefix("."))


def anything(wanted: Any) -> Any:
    """Something of this type."""
    kind = get_origin(wanted) or wanted
    if kind is Literal:
        return get_args(wanted)[0]
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return {"one": "thing"}
    if kind in (list, Sequence):
        return [SOMEBODY]
    return {int: 1, float: 1.0, bytes: b"x", bool: True}.get(kind, SOMEBODY)


def described(room: Any, build: Any) -> tuple[ApiRequest[Any], Any]:
    """The request a method makes, and what it says of the answer."""
    hints = get_type_hints(build)
    needed = [one for one in [*signature(build).parameters.values()][1:] if one.default is Parameter.empty]
    said = {one.name: anything(hints[one.name]) for one in needed if one.kind is not Parameter.VAR_KEYWORD}
    [answer] = get_args(hints["return"])
    return build(room, **said), answer


@pytest.mark.parametrize(("room", "build"), [*methods()])
def test_a_method_answers_what_its_route_announces(room: Any, build: Any) -> None:
    request, answer = described(room, build)
    found = operation_at(request.method, request.target)
    assert found is not None, request
    announced = [*ANSWERS[request.method, found[0]].values()]
    if announced == [EVENTS]:
        assert answer is Event
        return
    assert any(answer in each_of(shape) for shape in announced), (request, answer)


def each_of(shape: Any) -> tuple[Any, ...]:
    """One of several, where it is either of them."""
    return get_args(shape) if isinstance(shape, UnionType) or get_origin(shape) is Union else (shape,)
