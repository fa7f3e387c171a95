"""With which statuses a route may refuse: what follows from who is let in, from its method and from its address.

Written down one by one is only which routes may find things in a state that forbids what is asked.
"""

from collections.abc import Mapping

from postino.api.authorization import ANYBODY, row_of
from postino.values.auth import Role

REASONS: Mapping[int, tuple[str, str]] = {
    400: ("Unreadable", "The body is not JSON in UTF-8."),
    401: ("NotLetIn", "Nobody is let in without a key or a session, or not with this one."),
    403: ("NotAllowed", "Who asks may not do this."),
    404: ("NotFound", "There is no such thing, or not for who asks."),
    408: ("TooSlow", "The body did not arrive in time."),
    409: ("Conflict", "It is in a state that forbids this."),
    413: ("TooLarge", "The body is too large."),
    422: ("WrongUse", "What was asked for cannot be done as it was said; `field` names what is to blame."),
    429: ("TooMany", "Too many requests: `Retry-After` says when the next is taken."),
    503: ("Unavailable", "The database does not answer; it may be asked again after `Retry-After`."),
}  # the name it has in openapi.json, and what it means
WITH_BODY = frozenset({"POST", "PATCH", "PUT"})
SAFE = frozenset({"GET", "HEAD"})
BY_BODY = frozenset({400, 408, 413, 422})
FREE = "/health/"
ALIVE = "/health/live"
SIGNS_IN = "/v1/login"
SANDBOX = "/v1/sandbox/"  # there may be none
FILES = frozenset({"/v1/imports"})  # what is wrong with one is told line by line
CONFLICTS = frozenset({
    ("POST", "/v1/posts"), ("PATCH", "/v1/posts/{post_id}"), ("POST", "/v1/posts/{post_id}/publish-now"),
    ("POST", "/v1/posts/{post_id}/cancel"), ("POST", "/v1/posts/{post_id}/replay"),
    ("POST", "/v1/posts/{post_id}/resolve"), ("POST", "/v1/drafts"), ("PATCH", "/v1/drafts/{draft_id}"),
    ("POST", "/v1/drafts/{draft_id}/schedule"), ("POST", "/v1/accounts"), ("POST", "/v1/accounts/{account_id}/check"),
    ("POST", "/v1/accounts/{account_id}/pause"), ("POST", "/v1/accounts/{account_id}/resume"), ("POST", "/v1/jobs"),
    ("POST", "/fp-publisher/v1/jobs"), ("POST", "/v1/jobs/{job_id}/cancel"), ("POST", "/v1/jobs/{job_id}/replay"),
    ("POST", "/fp-publisher/v1/jobs/{job_id}/replay"), ("POST", "/v1/jobs/{job_id}/resolve"),
    ("POST", "/v1/dead-letters/{job_id}/replay"), ("POST", "/v1/dead-letters/{job_id}/discard"),
    ("GET", "/v1/uncertain/{job_id}"), ("POST", "/v1/uncertain/{job_id}/look"), ("POST", "/v1/blackouts"),
    ("POST", "/v1/users"), ("POST", "/v1/api-keys"), ("POST", "/v1/accounts/{account_id}/reconnect"),
    ("DELETE", "/v1/drafts/{draft_id}"),
})  # fmt: skip


def refusals_of(method: str, path: str) -> list[int]:
    found: set[int] = set()
    row = row_of(method, path)
    if row != ANYBODY:
        found |= {401, 422}  # 422: parameters that there are not
        if row.least is not Role.VIEWER or not row.some_brands or method not in SAFE:  # a browser's change needs more
            found.add(403)
    if path == SIGNS_IN:
        found |= {401, 403}
    if method in WITH_BODY:
        found |= BY_BODY - ({400} if path in FILES else set())
    if "{" in path or path.startswith(SANDBOX):
        found.add(404)
    if (method, path) in CONFLICTS:
        found.add(409)
    if not path.startswith(FREE):
        found.add(429)
    if path != ALIVE:
        found.add(503)
    return sorted(found)
