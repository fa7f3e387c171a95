"""The settings that hold for all workers, as one document: caps of channels and blackout windows."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from postino.rules.blackout import Blackout, describe_blackout, parse_blackout, render_blackout


def render_settings(caps: Mapping[str, int], blackouts: Sequence[Blackout]) -> str:
    """Return the document as JSON; equal settings give equal text."""
    windows = sorted((render_blackout(blackout) for blackout in blackouts), key=lambda window: str(window["id"]))
    return json.dumps({"caps": dict(caps), "blackouts": windows}, sort_keys=True)


def parse_settings(document: str) -> tuple[dict[str, int], list[Blackout]]:
    """Return the caps and the blackouts of a document."""
    content: dict[str, Any] = json.loads(document)
    blackouts = [
        parse_blackout({name: value for name, value in window.items() if name != "id"}, UUID(window["id"]))
        for window in content["blackouts"]
    ]
    return content["caps"], blackouts


def describe_differences(stored: str, own: str) -> list[str]:
    """Say in which caps and blackouts the settings of a process differ from the stored ones."""
    stored_caps, stored_blackouts = parse_settings(stored)
    own_caps, own_blackouts = parse_settings(own)
    differences = [
        f"cap of {channel}: {stored_caps.get(channel, 'none')} stored, {own_caps.get(channel, 'none')} here"
        for channel in sorted(stored_caps.keys() | own_caps.keys())
        if stored_caps.get(channel) != own_caps.get(channel)
    ]
    by_id = {blackout.id: blackout for blackout in (*stored_blackouts, *own_blackouts)}
    is_stored, is_own = {blackout.id for blackout in stored_blackouts}, {blackout.id for blackout in own_blackouts}
    for blackout_id in sorted(is_stored ^ is_own):
        where = "stored, not here" if blackout_id in is_stored else "here, not stored"
        differences.append(f"blackout {describe_blackout(by_id[blackout_id])}: {where}")
    return differences
