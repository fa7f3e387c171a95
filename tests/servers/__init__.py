"""Real servers, private to the test run: their own directory, their own port, and gone when the run is gone."""

from __future__ import annotations


class ServerMissing(Exception):
    """The programs of a server are not on this machine; the message says how to get them."""
