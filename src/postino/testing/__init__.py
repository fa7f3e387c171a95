"""Test your own handlers and networks without a database server, without waiting, and without the internet.

`MemoryApp` runs the jobs of an app in memory on a `VirtualClock`. `run_with_faults` runs a network or handlers while
workers die, responses are lost and the database fails. `SandboxServer` is the sandbox in a process of its own; the
module `postino.testing.fixtures` offers it to pytest. Nothing here is meant for production.
"""

from postino.testing.clock import VirtualClock
from postino.testing.faults import FaultReport, Violation, run_with_faults
from postino.testing.faults_server import SimulatedServer
from postino.testing.memory_app import MemoryApp
from postino.testing.sandbox import SandboxServer
from postino.testing.simulation.http import SentRequest

__all__ = [
    "FaultReport",
    "MemoryApp",
    "SandboxServer",
    "SentRequest",
    "SimulatedServer",
    "Violation",
    "VirtualClock",
    "run_with_faults",
]
