"""Load the application that `--app module:attr` names. Each failure has its own message."""

import os
from types import ModuleType

from postino.app import App
from postino.cli.connection import Target
from postino.config import Config
from postino.errors import WrongUse
from postino.import_object import get_attribute, import_target, split_target
from postino.values.post import POST


def load(path: str) -> App:
    """Import the application. Raise WrongUse if it does not exist or has no handlers."""
    module_name, name = split_target(path, "shop.queue:app", to_error)
    module = import_target(module_name, to_error, os.getcwd(), first=True)
    app = get_attribute(module, name, to_error, list_apps(module))
    if not isinstance(app, App):
        raise to_error(f"{path} is of type {type(app).__name__}, not Postino.")
    if not set(app.handlers) - {POST}:
        raise to_error(
            f"{path} has no handlers, so a worker would run no job. Import the modules that register them with"
            f" @{name}.handler(…) from {module_name}. To publish posts only, omit --app."
        )
    return app


def list_apps(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if isinstance(value, App)]
    return f" It has: {', '.join(names)}." if names else " It has no Postino."


def check_conflicts(config: Config, path: str, target: Target, concurrency: int | None) -> None:
    """Raise WrongUse for an option that the application's own settings would override."""
    for option, value, used in (
        ("--database-url", target.database_url, config.database_url),
        ("--data-dir", target.data_dir and target.data_dir.expanduser().absolute(), config.data_dir),
        ("--concurrency", concurrency, config.worker.concurrency),
    ):
        if value is not None and value != used:
            raise WrongUse(f"{option}: {path} sets its own value, which overrides this option. Omit one of the two.")


def to_error(message: str) -> WrongUse:
    return WrongUse(f"app: {message}", field="app")
