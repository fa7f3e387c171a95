"""`/v1/audit`: the audit trail, a chain of entries in which each hash covers the entry before."""

from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.query import EARLIER, LIMIT, Parameter, flag_parameter
from postino.api.routes import Routes
from postino.api.views.fields import render_fields
from postino.client.types.audit import AuditEntryView, VerifiedAuditView
from postino.client.types.schema import Page
from postino.errors import WrongUse
from postino.stores.audit import FIRST_HASH, compute_entry_hash
from postino.values.auth import Role
from postino.wiring import Postino

routes = Routes("audit")
PAGE_SIZE = 1000
MAX_DIGITS = 18


def parse_sequence(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise WrongUse(f"cursor must be {EARLIER}, not {text[:40]!r}.", "cursor")
    return int(text)


CURSOR: Parameter[int | None] = Parameter(
    "cursor", "The `next_cursor` of the previous page. Leave it out to get the first page.", parse_sequence, None
)
VERIFY = flag_parameter(
    "verify", "Also check the hashes of all entries. The duration grows with the number of entries."
)


@routes.add(
    "GET",
    "/v1/audit",
    role=Role.OWNER,
    all_brands=True,
    query=(LIMIT, CURSOR, VERIFY),
    responses={200: Page[AuditEntryView] | VerifiedAuditView},
)
async def list_audit_entries(context: Context) -> JSONResponse:
    """List audit entries.

    Returns entries, newest first. With `verify=true` the response also says whether an entry was changed or removed.
    """
    query, limit = context.query, context.query[LIMIT]
    entries = await context.app.store.audit_page(query[CURSOR], limit + 1)
    cursor = str(entries[limit - 1].seq) if len(entries) > limit else None
    view: dict[str, object] = {"data": [render_fields(entry) for entry in entries[:limit]], "next_cursor": cursor}
    return JSONResponse(view | (await verify_chain(context.app) if query[VERIFY] else {}))


async def verify_chain(app: Postino) -> dict[str, object]:
    """Check the whole chain from its first entry; `broken_at` is the first entry that does not fit."""
    previous, seq = FIRST_HASH, 0
    while entries := await app.store.audit_after(seq, PAGE_SIZE):
        for entry in entries:
            if entry.seq != seq + 1 or entry.hash != compute_entry_hash(previous, entry):
                return {"verified": False, "broken_at": entry.seq}
            previous, seq = entry.hash, entry.seq
    return {"verified": True, "broken_at": None}
