"""No write and no call to the outside without a crash point on either side, and no crash point that is not reached."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from postino.engine import crashpoints
from postino.engine.crashpoints import POINTS
from postino.gatekeeping import GateStore
from postino.ledger import LedgerStore
from postino.post import PostStore
from postino.store import Store
from tests.crash.publishing import test_deaths as deaths
from tests.crash.publishing import test_sweep as ways
from tests.crash.test_sweep import CALLERS, CASES

ENGINE = Path(crashpoints.__file__).parent
# In the hands of people and callers: each word of theirs is one transaction, and nothing is half done without the next.
DESKS = {"gatekeeper.py", "breaker.py", "rehearsing.py", "simulated.py", "simulation.py"}
MODULES = sorted(path.name for path in ENGINE.glob("*.py") if path.name not in DESKS)

READING = {
    "open", "close", "migrate", "get", "find", "list", "attempts", "dead_letter", "dead_letters", "depths", "gates",
    "workers", "audit", "events", "ledger", "held_by_others", "post", "posts", "account", "accounts", "gates_of",
    "known_gates", "circuits", "blackouts", "circumstances", "collides", "answer", "answers", "accounts_named",
}  # fmt: skip
CONTRACTS = (Store, LedgerStore, PostStore, GateStore)
WRITING = {name for contract in CONTRACTS for name in vars(contract) if not name.startswith("_")} - READING
OUTSIDE = {"performer.perform", "listener.hear"}  # where the code of others is called, which may do anything


@dataclass(frozen=True, order=True)
class Passage:
    """A crash point, or something that needs one on either side, at its place in a function."""

    line: int
    what: str
    is_point: bool


def functions(source: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    nodes = ast.walk(ast.parse(source))
    return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def passages(function: ast.AST) -> list[Passage]:
    """In the order of the lines; functions inside are their own."""
    return sorted(found(function))


def found(node: ast.AST) -> Iterator[Passage]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                continue
            case ast.Call(func=ast.Name(id="crashpoint"), args=[ast.Constant(value=str(name))]):
                yield Passage(child.lineno, name, is_point=True)
            case ast.Call(func=ast.Name(id=name), args=[ast.Call(func=ast.Attribute(attr="_open")), *_]):
                yield Passage(child.lineno, f"{name} with the door open", is_point=False)
            case ast.Attribute(attr=verb) if is_change(child):
                yield Passage(child.lineno, verb if verb in WRITING else dotted(child), is_point=False)
        yield from found(child)


def is_change(node: ast.Attribute) -> bool:
    """A verb of the store that writes, called or handed on; or a call to the outside."""
    owner, _, verb = dotted(node).rpartition(".")
    return (owner == "store" and verb in WRITING) or dotted(node) in OUTSIDE


def dotted(node: ast.Attribute) -> str:
    """The last two names: `self.store.claim` is `store.claim`."""
    return ".".join(ast.unparse(node).split(".")[-2:])


def unguarded(source: str, module: str = "") -> list[str]:
    """What is not between `crashpoint("name.before")` and `crashpoint("name.after")`, with nothing else in between."""
    lacking = []
    for function in functions(source):
        way = [None, *passages(function), None]
        for before, change, after in zip(way, way[1:], way[2:], strict=False):
            if change is None or change.is_point:
                continue
            if not (before and after and is_pair(before, after)):
                lacking.append(f"{module}:{change.line} {function.name}: {change.what}")
    return lacking


def is_pair(before: Passage, after: Passage) -> bool:
    name, _, side = before.what.rpartition(".")
    return before.is_point and after.is_point and side == "before" and after.what == f"{name}.after"


@pytest.mark.parametrize("module", MODULES)
def test_every_write_and_every_call_outside_has_a_crash_point_on_either_side(module: str) -> None:
    assert unguarded((ENGINE / module).read_text(), module) == []


def test_every_crash_point_of_the_engine_is_registered_and_every_registered_one_is_there() -> None:
    way = [passage for module in MODULES for it in functions((ENGINE / module).read_text()) for passage in passages(it)]
    there = [passage.what for passage in way if passage.is_point]
    assert set(there) == set(POINTS)
    assert len(there) == len(set(there)), "one name is one place"


def test_the_sweeps_reach_every_crash_point() -> None:
    reached = {case.partition(":")[0] for case in CASES + CALLERS}
    reached |= {*ways.ALWAYS_PASSED, *ways.STARTED_ANEW, *ways.SENT_AGAIN, *ways.LOOKED_FOR}
    reached |= {*deaths.TOO_MANY, *deaths.OUT_OF_REACH, *deaths.TAKEN_OVER, *deaths.ON_THE_WAY_OUT, *deaths.ASKED_FOR}
    assert reached == set(POINTS)


BEFORE, AFTER = 'crashpoint("claim.before")', 'crashpoint("claim.after")'


@pytest.mark.parametrize(
    "body",
    [
        "await self.store.claim(order)",
        f"{BEFORE}; await self.store.claim(order)",
        f"await self.store.claim(order); {AFTER}",
        f"{BEFORE}; {AFTER}; await self.store.claim(order)",
        f"{BEFORE}\n  await self.store.claim(order)\n  await self.store.settle(endings)\n  {AFTER}",
        f"{BEFORE}\n  await self.store.claim(order)\n  crashpoint('settle.after')",
        "await self.patiently(self.store.claim)",
        "await self.patiently(lambda: self.store.claim(order))",
        "await store.beat(worker)",
        "await self.listener.hear(event)",
        "await self.store.intend(intents)",
        "await act(self._open(visible=True), *arguments)",
        f"{BEFORE}; sighting = await found(self._open(visible=False), asked_about)",
    ],
)
def test_a_missing_crash_point_would_be_noticed(body: str) -> None:
    assert unguarded(f"async def act(self):\n  {body}")


@pytest.mark.parametrize(
    "body",
    [
        f"{BEFORE}\n  jobs = await self.store.claim(order)\n  {AFTER}",
        f"{BEFORE}\n  jobs = await self.store.claim(order)\n  if jobs:\n    {AFTER}",
        f"{BEFORE}\n  await self.patiently(lambda: self.store.claim(order))\n  {AFTER}",
        f"{BEFORE}\n  result = await act(self._open(visible=False), *arguments)\n  {AFTER}",
        "await self.store.get(job_id)",
        "await self.store.ledger(job_id)",
        "self.claims.claim(order)",
    ],
)
def test_what_is_guarded_or_only_reads_is_left_alone(body: str) -> None:
    assert unguarded(f"async def act(self):\n  {body}") == []
