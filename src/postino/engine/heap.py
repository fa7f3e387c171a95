"""Excludes the objects that a process loaded at its start from garbage collections."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def freeze_heap() -> Iterator[None]:
    """Exclude all objects that exist now from garbage collections during the block.

    A full collection looks at every object, modules and their code included: it stops all jobs and requests of the
    process for as long. Afterwards, everything is collected again.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
