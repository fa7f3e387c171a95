"""The document of blackout windows and caps: equal settings are equal text, and differences have names."""

from datetime import time
from uuid import UUID

from postino.rules.blackout import Blackout
from postino.rules.stored_settings import describe_differences, parse_settings, render_settings
from postino.values.gate import Scope

NIGHT = Blackout(id=UUID(int=1), scope=Scope.BRAND, name="acme", start=time(22), end=time(7), timezone="Europe/Rome")
LUNCH = Blackout(id=UUID(int=2), scope=Scope.ALL, name="", start=time(12), end=time(13), timezone="UTC")


def test_equal_settings_are_equal_text_in_any_order() -> None:
    document = render_settings({"a": 1, "b": 2}, [NIGHT, LUNCH])
    assert document == render_settings({"b": 2, "a": 1}, [LUNCH, NIGHT])
    assert parse_settings(document) == ({"a": 1, "b": 2}, [NIGHT, LUNCH])
    assert describe_differences(document, document) == []


def test_differences_are_named_with_both_values() -> None:
    stored = render_settings({"a": 1, "b": 2, "same": 3}, [NIGHT])
    own = render_settings({"a": 4, "c": 5, "same": 3}, [LUNCH])
    caps = ["cap of a: 1 stored, 4 here", "cap of b: 2 stored, none here", "cap of c: none stored, 5 here"]
    *differences, night, lunch = describe_differences(stored, own)
    assert differences == caps
    assert "22:00" in night
    assert night.endswith("stored, not here")
    assert "12:00" in lunch
    assert lunch.endswith("here, not stored")
