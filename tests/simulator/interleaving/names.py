"""What every life has: a few accounts on one channel, and a channel of jobs without lanes."""

from dataclasses import dataclass

from postino.values.gate import Scope

CHANNEL, BULK_CHANNEL = "net", "mail"
NOTE, MAIL = "note", "mail"  # types of jobs


@dataclass(frozen=True, slots=True)
class Account:
    id: str
    brand: str | None
    service: str


ACCOUNTS = (
    Account("anna", "rosso", "net@one.example"),
    Account("bruno", None, "net@one.example"),
    Account("carla", "rosso", "net@two.example"),
)
SERVICES = tuple(dict.fromkeys(account.service for account in ACCOUNTS))
BRAND = "rosso"
GATES = (
    (Scope.BRAND, BRAND), (Scope.ACCOUNT, "anna"), (Scope.ACCOUNT, "bruno"), (Scope.CHANNEL, CHANNEL),
    (Scope.ALL, ""), (Scope.QUEUE, "default"), (Scope.CHANNEL, BULK_CHANNEL),
)  # fmt: skip
