"""From `module:attr` to the application, with a sentence for each way in which it may not be there."""

import os
from types import ModuleType

from postino.app import App
from postino.cli.session import Where
from postino.config import Config
from postino.errors import WrongUse
from postino.import_object import get_attribute, import_target, split_target
from postino.values.post import POST


def load(target: str) -> App:
    module_name, path = split_target(target, "shop.queue:app", wrong)
    module = import_target(module_name, wrong, os.getcwd(), first=True)
    found = get_attribute(module, path, wrong, apps_in(module))
    if not isinstance(found, App):
        raise wrong(f"{target} is a {type(found).__name__}, not a Postino.")
    if not set(found.handlers) - {POST}:
        raise wrong(
            f"{target} has no handlers of its own, so a worker could only fail its jobs. Import the modules that"
            f" register them with @{path}.handler(…) from {module_name}. To publish posts alone, leave out --app."
        )
    return found


def apps_in(module: ModuleType) -> str:
    there = [known for known, value in vars(module).items() if isinstance(value, App)]
    return f" It has: {', '.join(there)}." if there else " No Postino is in it."


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
