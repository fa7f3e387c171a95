"""From `module:attr` to the application, with a sentence for each way in which it may not be there."""

import importlib
import os
import sys
import sysconfig
import traceback
from pathlib import Path
from types import ModuleType

from postino.app import App
from postino.cli.session import Where
from postino.config import Config
from postino.errors import ConfigError, WrongUse
from postino.post import POST

NOT_THEIRS = (*(sysconfig.get_path(name) for name in ("stdlib", "purelib")), str(Path(__file__).parents[1]), "<")


def load(target: str) -> App:
    module_name, colon, path = target.partition(":")
    if not module_name or not colon or not path:
        raise wrong(f"{target!r} is not of the form module:attr, for example shop.queue:app.")
    if module_name.endswith(".py"):
        name = module_name.removesuffix(".py").removeprefix("./").replace("/", ".")
        raise wrong(f"{target!r} names a file; name the module, without .py: {name}:{path}.")
    found = attribute(imported(module_name), path)
    if not isinstance(found, App):
        raise wrong(f"{target} is a {type(found).__name__}, not a Postino.")
    if not set(found.handlers) - {POST}:
        raise wrong(
            f"{target} has no handlers of its own, so a worker could only fail its jobs. Import the modules that"
            f" register them with @{path}.handler(…) from {module_name}. To publish posts alone, leave out --app."
        )
    return found


def imported(name: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise wrong(f"there is no module {error.name}. Looked in {here} and in Python's own path.") from None
        raise failed(name, error) from error
    except ConfigError:
        raise  # the application's own settings are wrong, and it says which
    except Exception as error:
        raise failed(name, error) from error


def failed(name: str, error: Exception) -> WrongUse:
    said = f"{type(error).__qualname__}: {error.msg if isinstance(error, SyntaxError) else error}".rstrip(".")
    return wrong(f"importing {name} failed at {place(error)}: {said}.")


def place(error: Exception) -> str:
    """Where in the application's own code: the libraries that it calls are seldom to blame."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename} line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith(NOT_THEIRS)]
    where = (theirs or frames)[-1]
    return f"{where.filename} line {where.lineno}"


def attribute(module: ModuleType, path: str) -> object:
    found: object = module
    for name in path.split("."):
        if not hasattr(found, name):
            there = [known for known, value in vars(module).items() if isinstance(value, App)]
            hint = f" It has: {', '.join(there)}." if there else " No Postino is in it."
            raise wrong(f"{module.__name__} has no {path}.{hint}")
        found = getattr(found, name)
    return found


def check_obeyed(config: Config, target: str, where: Where, concurrency: int | None) -> None:
    """An application that brings its own settings does not hear ours: better refused than run elsewhere."""
    for option, said, used in (
        ("--database-url", where.database_url, config.database_url),
        ("--data-dir", where.data_dir and where.data_dir.expanduser().absolute(), config.data_dir),
        ("--concurrency", concurrency, config.worker.concurrency),
    ):
        if said is not None and said != used:
            raise WrongUse(
                f"{option}: {target} names its own, so this one would not be used. Leave out one of the two."
            )


def wrong(said: str) -> WrongUse:
    return WrongUse(f"app: {said}", field="app")
