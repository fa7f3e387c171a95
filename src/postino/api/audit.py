"""`/v1/audit`: the audit trail, a chain of entries in which each hash covers the entry before it."""

from fastapi.responses import JSONResponse

from postino.api.context import Context
from postino.api.query import EARLIER, LIMIT, Parameter, flag_parameter, parse_digits
from postino.api.routes import Routes
from postino.api.views.fields import render_fields
from postino.client.types.audit import AuditEntryView, VerifiedAuditView
from postino.client.types.schema import Page
from postino.errors import WrongUse
from postino.values.auth import Role
from postino.wiring import Postino

routes = Routes("audit")


def parse_sequence(text: str) -> int:
    if (number := parse_digits(text)) is None:
        raise WrongUse(f"cursor must be {EARLIER}, not {text[:40]!r}.", "cursor")
    return number


CURSOR: Parameter[int | None] = Parameter(
    "cursor", "The `next_cursor` of the previous page. Leave it out to get the first page.", parse_sequence, None
)
VERIFY = flag_parameter(
    "verify", "Also check the hashes and proofs of all entries. The duration grows with the number of entries."
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

    Returns entries, newest first. With `verify=true` the response also says whether an entry was changed, removed or
    added by somebody without the vault key, and whether the last entry that the server's machine remembers is there.
    """
    query, limit = context.query, context.query[LIMIT]
    entries = await context.app.store.audit_page(query[CURSOR], limit + 1)
    cursor = str(entries[limit - 1].seq) if len(entries) > limit else None
    view: dict[str, object] = {"data": [render_fields(entry) for entry in entries[:limit]], "next_cursor": cursor}
    return JSONResponse(view | (await verify_trail(context.app) if query[VERIFY] else {}))


async def verify_trail(app: Postino) -> dict[str, object]:
    """Check the whole trail from its first entry; `first_broken_entry` is the first entry that is wrong."""
    report, anchor = await app.audit_trail.verify()
    return {
        "verified": report.problem is None,
        "first_broken_entry": report.broken,
        "problem": report.problem,
        "entries": report.entries,
        "head": report.head,
        "unproven_entries": report.unproven,
        "anchor": None if anchor is None else {"seq": anchor.seq, "hash": anchor.hash},
    }
