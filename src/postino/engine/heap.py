"""Keeps the garbage collector from looking through what a process loaded at its start."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def freeze_heap() -> Iterator[None]:
    """Leave everything that exists now out of garbage collections during the block.

    A full collection looks at every object, modules and their code included: it stops all jobs and requests of the
    process for as long. Afterwards, everything is collected again.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
