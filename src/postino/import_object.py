"""Import the object that `module:attribute` names, with a clear error for each way in which that may fail."""

import importlib
import sys
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from postino.errors import ConfigError, PostinoError

LIBRARY_PATHS = (*(sysconfig.get_path(name) for name in ("stdlib", "purelib")), str(Path(__file__).parent), "<")

Refusal = Callable[[str], PostinoError]


def split_target(target: str, example: str, wrong: Refusal) -> tuple[str, str]:
    """Split `module:attribute` into its two names."""
    module_name, colon, path = target.partition(":")
    if not module_name or not colon or not path:
        raise wrong(f"{target!r} is not of the form module:attr, for example {example}.")
    if module_name.endswith(".py"):
        name = module_name.removesuffix(".py").removeprefix("./").replace("/", ".")
        raise wrong(f"{target!r} names a file; name the module, without .py: {name}:{path}.")
    return module_name, path


def import_target(name: str, wrong: Refusal, folder: str, *, first: bool) -> ModuleType:
    """Import a module. `folder` is searched too: before (`first`) or after Python's own path."""
    if folder not in sys.path:
        sys.path.insert(0 if first else len(sys.path), folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise wrong(f"module {error.name} does not exist in {folder} or in Python's path.") from None
        raise _make_import_error(name, error, wrong) from error
    except ConfigError:
        raise  # the message already says which setting is wrong
    except Exception as error:
        raise _make_import_error(name, error, wrong) from error


def _make_import_error(name: str, error: Exception, wrong: Refusal) -> PostinoError:
    message = f"{type(error).__qualname__}: {error.msg if isinstance(error, SyntaxError) else error}".rstrip(".")
    return wrong(f"importing {name} failed at {_locate_error(error)}: {message}.")


def _locate_error(error: Exception) -> str:
    """Return the last line of the user's own code: libraries are rarely to blame."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename} line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own_frames = [frame for frame in frames if not frame.filename.startswith(LIBRARY_PATHS)]
    where = (own_frames or frames)[-1]
    return f"{where.filename} line {where.lineno}"


def get_attribute(module: ModuleType, path: str, wrong: Refusal, hint: str) -> object:
    value: object = module
    for name in path.split("."):
        if not hasattr(value, name):
            raise wrong(f"{module.__name__} has no {path}.{hint}")
        value = getattr(value, name)
    return value
