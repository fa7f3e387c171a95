"""Test your own handlers and networks without a database server, without waiting, and without the internet.

`MemoryApp` runs the jobs of an app in memory on a `VirtualClock`. `SandboxServer` is the sandbox in a process of its
own; the module `postino.testing.fixtures` offers it to pytest. Nothing here is meant for production.
"""

from postino.testing.clock import VirtualClock
from postino.testing.memory_app import MemoryApp
from postino.testing.sandbox import SandboxServer

__all__ = ["MemoryApp", "SandboxServer", "VirtualClock"]
