"""Decide whether a network's response to a post can be stored: a server may respond with anything."""

from dataclasses import replace

from postino.values.provider import CannotTell, Receipt

MAX_ID_BYTES = 500  # in UTF-8: with channel and account in one index entry, which PostgreSQL limits to 2,704 bytes
MAX_SCOPE_BYTES = 1000
MAX_URL = 4000  # characters
MAX_DATA = 20_000  # characters; of several messages, their ids

UNUSABLE = "The network's response names the post in a way that Postino cannot store: {}."


def check_receipt(receipt: Receipt) -> Receipt | CannotTell:
    """Return the receipt, without a URL that is too long, or why it is of no use: nobody could find the post by it."""
    if not receipt.remote_id.strip():
        return CannotTell(UNUSABLE.format("its id is empty"))
    if count_bytes(receipt.remote_id) > MAX_ID_BYTES:
        return CannotTell(UNUSABLE.format(f"its id has more than {MAX_ID_BYTES} bytes"))
    if count_bytes(receipt.id_scope or "") > MAX_SCOPE_BYTES or len(str(receipt.data)) > MAX_DATA:
        return CannotTell(UNUSABLE.format("what belongs to its id is too long"))
    return replace(receipt, url=None) if len(receipt.url or "") > MAX_URL else receipt


def count_bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))
