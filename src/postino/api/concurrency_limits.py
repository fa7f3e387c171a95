"""Limit how many event streams and imports a caller, a brand and an address may have at once."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import Request

from postino.api.caller import Caller
from postino.auth.addresses import group_address

CALLERS_PER_ADDRESS = 4  # as many may use all they are allowed, for example behind one router


class LimitReached(Exception):
    """A caller already has as many operations in progress as the limit allows."""

    def __init__(self, who: str, most: int) -> None:
        super().__init__(f"{who} has {most} in progress.")
        self.who, self.most = who, most


class ConcurrencyLimits:
    """Counts the operations in progress by caller, brand and address. Those without any use no memory."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.counts: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def enter(self, request: Request, caller: Caller) -> Iterator[None]:
        """Count one more operation while the block runs. Raises LimitReached."""
        names = list_names(request, caller)
        for name in names:
            most = self.most * (CALLERS_PER_ADDRESS if name[0] == "address" else 1)
            if self.counts[name] >= most:
                raise LimitReached(f"The {' '.join(name).rstrip()}", most)
        self.counts.update(names)
        try:
            yield
        finally:
            self.counts.subtract(names)
            self.counts += Counter()  # drops what is zero


def list_names(request: Request, caller: Caller) -> list[tuple[str, str]]:
    """Return whose limits a request counts against. A caller who may see all brands counts for no brand."""
    address = "" if request.client is None else group_address(request.client.host)
    return [("caller", caller.name), ("address", address), *(("brand", name) for name in sorted(caller.brands or ()))]
