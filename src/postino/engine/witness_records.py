"""What a witness file holds, and its form on disk: sealed blocks, so that a torn or damaged one is recognised."""

import json
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from hashlib import blake2b
from typing import Any
from uuid import UUID

from postino.values.ledger import StepEntry

SEAL = struct.Struct("<8sQHH")  # digest, sequence, batch size, length of the text
CELL = 1024  # bytes for each record
CELL_TEXT = CELL - SEAL.size
EMPTY = bytes(CELL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentIntent:
    """An intent that was committed and may have been sent. Its times are the database's."""

    n: int  # the witness's number of the batch
    job_id: UUID
    step: str
    position: int
    number: int
    intended_at: datetime
    send_before_at: datetime
    lookup_at: datetime
    id_scope: str = ""
    account: str | None = None
    channel: str = ""
    steps: tuple[StepEntry, ...] = ()  # the job's remembered steps, if they fit


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessHeader:
    """What a process knew of the database when it last wrote its file."""

    witness: str
    era: str
    place: str
    n: int
    pulse: int
    alive_at: datetime
    counts: Mapping[str, int]  # the number of every witness that it has seen
    created_at: datetime | None = None  # when the database was created


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedIntent:
    """A record with its place in the order of all records, and the size of its batch."""

    sequence: int
    batch: int
    intent: SentIntent


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessContents:
    """What one file says. A file without a valid header says nothing."""

    slot: int
    header: WitnessHeader | None = None
    sealed: tuple[SealedIntent, ...] = ()
    trouble: str | None = None  # why the file cannot be read

    @property
    def records(self) -> list[SentIntent]:
        """Return the intents that are whole, in the order in which they were written."""
        return [entry.intent for entry in self.sealed]

    @property
    def n(self) -> int:
        """Return the number of the last batch that this file knows."""
        return max([self.header.n if self.header else 0, *(entry.intent.n for entry in self.sealed)])

    def list_whole_batches(self) -> set[int]:
        """Return the numbers of the batches of which the ring holds every record."""
        sizes = {entry.intent.n: entry.batch for entry in self.sealed}
        counts = Counter(entry.intent.n for entry in self.sealed)
        return {number for number, count in counts.items() if count == sizes[number]}


def seal(witness: str, sequence: int, batch: int, text: bytes) -> bytes:
    """Return the text with a digest that also covers whose it is and where it stands."""
    body = struct.pack("<QHH", sequence, batch, len(text)) + text
    return make_digest(witness, body) + body


def unseal(witness: str, block: bytes) -> tuple[int, int, bytes] | None:
    """Return sequence, batch size and text of a block; None if it is empty, torn, damaged or of another witness."""
    if len(block) < SEAL.size:
        return None
    digest, sequence, batch, length = SEAL.unpack_from(block)
    end = SEAL.size + length
    if not length or end > len(block) or make_digest(witness, block[8:end]) != digest:
        return None
    return sequence, batch, block[SEAL.size : end]


def make_digest(witness: str, body: bytes) -> bytes:
    return blake2b(witness.encode() + b"\0" + body, digest_size=8).digest()


def encode_record(record: SentIntent) -> bytes | None:
    """Return the record as text, without its steps if they do not fit; None if even that does not fit."""
    steps = [[it.name, it.position, write_time(it.asked_at), write_time(it.done_at), it.result] for it in record.steps]
    for kept in (steps, []):
        values = {name: getattr(record, name) for name in RECORD_FIELDS} | {"steps": kept}
        text = json.dumps(values, default=write_value, ensure_ascii=False, separators=(",", ":"))
        encoded = text.encode(errors="surrogatepass")
        if len(encoded) <= CELL_TEXT:
            return encoded
    return None


def decode_record(text: bytes) -> SentIntent:
    """Return the record; fields that another release has added are ignored."""
    values = load(text)
    steps = tuple(
        StepEntry(
            name=name, position=position, asked_at=read_time(asked), done_at=done and read_time(done), result=result
        )
        for name, position, asked, done, result in values["steps"]
    )
    times = {name: read_time(values[name]) for name in ("intended_at", "send_before_at", "lookup_at")}
    others = {name: value for name, value in values.items() if name in RECORD_FIELDS}
    return SentIntent(**others | {"job_id": UUID(values["job_id"]), "steps": steps} | times)


def encode_header(header: WitnessHeader) -> bytes:
    values = {name: getattr(header, name) for name in HEADER_FIELDS} | {"counts": dict(header.counts)}
    return json.dumps(values, default=write_value, separators=(",", ":")).encode()


def decode_header(text: bytes) -> WitnessHeader:
    """Return the header; fields that another release has added are ignored."""
    values = {name: value for name, value in load(text).items() if name in HEADER_FIELDS}
    created = values.get("created_at")
    return WitnessHeader(
        **values | {"alive_at": read_time(values["alive_at"]), "created_at": created and read_time(created)}
    )


def decode_ring(witness: str, cells: Sequence[bytes]) -> tuple[SealedIntent, ...]:
    """Return the records that are whole and stand where they were written, in their order."""
    records = []
    for place, cell in enumerate(cells):
        opened = unseal(witness, cell) if cell and cell != EMPTY else None
        if opened is not None and opened[0] % len(cells) == place:
            records.append(SealedIntent(sequence=opened[0], batch=opened[1], intent=decode_record(opened[2])))
    return tuple(sorted(records, key=lambda record: record.sequence))


def load(text: bytes) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(text.decode(errors="surrogatepass"))
    return values


def write_value(value: datetime | UUID) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def write_time(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def read_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


RECORD_FIELDS = tuple(field.name for field in fields(SentIntent))
HEADER_FIELDS = tuple(field.name for field in fields(WitnessHeader))
