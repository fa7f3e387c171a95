"""What Postino refuses, and says.

PostinoError
├── WrongUse            the call itself is wrong (names the field)
│   └── ConfigError     a setting is wrong or unknown
├── NotFound            no such job, dead letter, queue
├── Conflict            it exists, but its state forbids this
├── CircuitOpen         a service in trouble was not called
└── StoreError          the database cannot be used
    ├── StoreUnreachable  it does not answer
    └── SchemaMismatch    its schema is older or newer than this program
A network or a handler saying no is not an exception but an `Outcome`.
"""


class PostinoError(Exception):
    """Anything Postino refuses. The message says what happened and what can be done; `field` names what is to blame."""

    exit_code = 1
    field: str | None = None


class WrongUse(PostinoError, ValueError):
    """The call is wrong; `field` names what is to blame."""

    exit_code = 2

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class ConfigError(WrongUse):
    """A setting is unknown or has a wrong value."""


class NotFound(PostinoError, LookupError):
    """There is no such thing."""

    exit_code = 3


class Conflict(PostinoError):
    """It exists, but its present state forbids this."""

    exit_code = 4


class CircuitOpen(PostinoError):
    """A service is in trouble and left alone for a while."""


class StoreError(PostinoError):
    """The database cannot be used."""

    exit_code = 5


class StoreUnreachable(StoreError):
    """The database does not answer."""


class SchemaMismatch(StoreError):
    """The database's schema does not fit this program."""
