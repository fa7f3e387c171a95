"""Response types: every field is described, and each client method returns what its route declares."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from inspect import Parameter, signature
from types import UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

import pytest
from typing_extensions import is_typeddict

from postino.api.routes import EVENT_STREAM
from postino.api.server import ROUTES
from postino.client import Client, types
from postino.client.api import Api
from postino.client.endpoints import EndpointMethod, Resource
from postino.client.messages import ApiRequest
from postino.client.types.events import EventView
from postino.client.types.schema import Doc
from tests.api.openapi_check import operation_at

SOME_ID = "01932c07-5b1e-7cc3-98c4-dc0c0c07398f"
CLIENT = Client("http://127.0.0.1:1")


def list_views() -> Iterator[Any]:
    for module in pkgutil.iter_modules(types.__path__):
        for name, view in vars(importlib.import_module(f"{types.__name__}.{module.name}")).items():
            if name.endswith("View") and is_typeddict(view):
                yield pytest.param(view, id=name)


@pytest.mark.parametrize("view", [*list_views()])
def test_every_response_type_and_field_is_described(view: Any) -> None:
    assert view.__doc__.endswith(".")
    for name, hint in get_type_hints(view, include_extras=True).items():
        hint = get_args(hint)[0] if get_origin(hint) is NotRequired else hint
        [text] = [extra.text for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Doc)]
        assert text.endswith("."), name


def list_methods() -> Iterator[Any]:
    resources = {"": CLIENT, **{name: item for name, item in vars(CLIENT).items() if isinstance(item, Resource)}}
    for path, resource in resources.items():
        owner = Api if resource is CLIENT else type(resource)
        for name, method in vars(owner).items():
            if isinstance(method, EndpointMethod):
                yield pytest.param(resource, method.build, id=f"{path}.{name}".removeprefix("."))


def make_value(hint: Any) -> Any:
    """Return some value of this type."""
    origin = get_origin(hint) or hint
    if origin is Literal:
        return get_args(hint)[0]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"some": "field"}
    if origin in (list, Sequence):
        return [SOME_ID]
    return {int: 1, float: 1.0, bytes: b"x", bool: True}.get(origin, SOME_ID)


def build_request(resource: Any, build: Any) -> tuple[ApiRequest[Any], Any]:
    """Return the request that a method builds, and the type of its response."""
    hints = get_type_hints(build)
    required = [item for item in [*signature(build).parameters.values()][1:] if item.default is Parameter.empty]
    arguments = {item.name: make_value(hints[item.name]) for item in required if item.kind is not Parameter.VAR_KEYWORD}
    [response] = get_args(hints["return"])
    return build(resource, **arguments), response


@pytest.mark.parametrize(("resource", "build"), [*list_methods()])
def test_method_returns_what_its_route_declares(resource: Any, build: Any) -> None:
    request, response = build_request(resource, build)
    operation = operation_at(request.method, request.target)
    assert operation is not None, request
    [route] = [one for one in ROUTES if (one.method, one.path) == (request.method, operation[0])]
    declared = [*route.responses.values()]
    if declared == [EVENT_STREAM]:
        assert response is EventView
        return
    assert any(response in split_union(item) for item in declared), (request, response)


def split_union(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if isinstance(hint, UnionType) or get_origin(hint) is Union else (hint,)
