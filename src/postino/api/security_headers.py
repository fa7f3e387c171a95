"""Middleware: what browsers may do with a response. A route that needs something else sets the header itself."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NO_RESOURCES = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
DEFAULTS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": NO_RESOURCES,
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
HSTS = {"Strict-Transport-Security": "max-age=31536000"}  # not for subdomains, which may belong to other services


class SecurityHeaders:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        defaults = DEFAULTS | HSTS if scope.get("scheme") == "https" else DEFAULTS

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, text in defaults.items():
                    headers.setdefault(name, text)
            await send(message)

        await self.app(scope, receive, send_with_headers)
