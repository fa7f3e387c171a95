"""Errors that Postino raises. Their messages say what happened, to which thing, and what to do.

PostinoError
├── WrongUse              the call is wrong; `field` names the wrong argument
│   └── ConfigError       a setting is wrong or unknown
├── NotFound              the job, dead letter, post, … does not exist
├── Conflict              it exists, but its state forbids the action
├── CircuitOpen           the circuit of a service is open; nothing was sent
└── StoreError            the database cannot be used
    ├── StoreUnreachable  it does not respond
    └── SchemaMismatch    its schema is older or newer than this program

A network that refuses a post, or a handler that fails, is not an exception but an `Outcome`.
"""


class PostinoError(Exception):
    """Base of all errors. `field` names the wrong argument, if one is to blame."""

    exit_code = 1
    field: str | None = None


class WrongUse(PostinoError, ValueError):
    """The call is wrong; `field` names the wrong argument."""

    exit_code = 2

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class ConfigError(WrongUse):
    """A setting is unknown or has a wrong value."""


class NotFound(PostinoError, LookupError):
    """The thing does not exist."""

    exit_code = 3


class Conflict(PostinoError):
    """The thing exists, but its state forbids the action."""

    exit_code = 4


class CircuitOpen(PostinoError):
    """The circuit of a service is open. Nothing was sent; try again later."""


class StoreError(PostinoError):
    """The database cannot be used."""

    exit_code = 5


class StoreUnreachable(StoreError):
    """The database does not respond."""


class SchemaMismatch(StoreError):
    """The schema of the database is older or newer than this program."""
