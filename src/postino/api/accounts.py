"""`/v1/accounts`: who can publish, without what it takes to speak for them."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import Field

from postino.api.caller import Caller, caller_of
from postino.api.models import MOST_REASON, DeedBody, Strict
from postino.api.problems import nearest
from postino.api.query import query_of
from postino.api.views.accounts import render_account
from postino.api.visibility import get_visible_account
from postino.engine.actions import make_audit_context
from postino.engine.checks import check_name, check_text
from postino.errors import Conflict, WrongUse
from postino.publishing.accounts import SANDBOX, complete_credentials, find_remote_id
from postino.values.post import AccountState, StoredAccount
from postino.wiring import Postino, describe_unreachable
from postino.wiring import check_account as check_account_of

Credentials = Annotated[dict[str, Annotated[str, Field(max_length=10_000)]], Field(max_length=20, repr=False)]
Name = Annotated[str, Field(max_length=500)]


class ReconnectBody(Strict):
    """New credentials; they are sealed, and never shown again."""

    credentials: Credentials
    base_url: Name | None = None
    brand: Name | None = None
    remote_id: Name | None = None
    reason: Annotated[str, Field(max_length=MOST_REASON)] = ""


class AccountBody(ReconnectBody):
    """`POST /v1/accounts`."""

    network: Name
    handle: Annotated[str, Field(min_length=1, max_length=300)]


def routes(app: Postino) -> APIRouter:
    router = APIRouter(prefix="/v1/accounts", tags=["accounts"])

    @router.get("")
    async def list_accounts(request: Request) -> JSONResponse:
        """All of them, the first one added first: `network`, `brand`, `state`."""
        caller, query = caller_of(request), query_of(request, "network", "brand", "state")
        if "state" in query and query["state"] not in list(AccountState):
            known = nearest(query["state"], [*AccountState])
            raise WrongUse(f"state: there is no {query['state'][:40]!r}.{known}", "state")
        found = [account for account in await app.store.accounts() if caller.sees(account.brand)]
        told = [render_account(account) for account in found]
        data = [account for account in told if all(account[name] == said for name, said in query.items())]
        return JSONResponse({"data": data, "next_cursor": None})

    @router.post("", status_code=201)
    async def create_account(body: AccountBody, request: Request) -> JSONResponse:
        """Adds one: 201. One that is known is reconnected instead."""
        caller = caller_of(request)
        check_name(body.handle, "handle")
        check_brand(caller, body.brand)
        account_id = f"{body.network}:{body.handle}"
        for account in await app.store.accounts_by_id([account_id]):
            advice = "reconnect it" if caller.sees(account.brand) else "ask an owner of all brands about it"
            raise Conflict(f"Account {account_id} is there already: {advice}. Nothing was changed.")
        added = await connect(body.network, body.handle, body, caller, body.brand, new=True)
        return JSONResponse(render_account(added), 201)

    @router.get("/{account_id}")
    async def show_account(account_id: str, request: Request) -> JSONResponse:
        """One of them."""
        return JSONResponse(render_account(await get_visible_account(app, account_id, caller_of(request))))

    @router.post("/{account_id}/check")
    async def check_account(account_id: str, request: Request) -> JSONResponse:
        """Asks the network whether it takes the credentials: `works`, null where that cannot be told."""
        caller = caller_of(request)
        await get_visible_account(app, account_id, caller)
        checked = await check_account_of(app, account_id, make_audit_context(caller.name, "checked"))
        told = {"works": checked.works, "message": checked.message}
        return JSONResponse(told | {"account": render_account(checked.account)})

    @router.post("/{account_id}/reconnect")
    async def reconnect_account(account_id: str, body: ReconnectBody, request: Request) -> JSONResponse:
        """New credentials: what waited for them goes out."""
        caller = caller_of(request)
        known = await get_visible_account(app, account_id, caller)
        brand = known.brand if body.brand is None else body.brand
        check_brand(caller, brand)
        again = await connect(known.network, known.handle, body, caller, brand, before=known)
        app.wakeup.notify()
        return JSONResponse(render_account(again))

    @router.post("/{account_id}/pause")
    async def pause_account(account_id: str, request: Request, body: DeedBody | None = None) -> JSONResponse:
        """Its posts wait until it is resumed."""
        caller = caller_of(request)
        await get_visible_account(app, account_id, caller)
        paused = await app.accounts.pause(account_id, make_audit_context(caller.name, body.reason if body else ""))
        return JSONResponse(render_account(paused))

    @router.post("/{account_id}/resume")
    async def resume_account(account_id: str, request: Request, body: DeedBody | None = None) -> JSONResponse:
        """Its posts go again."""
        caller = caller_of(request)
        await get_visible_account(app, account_id, caller)
        resumed = await app.accounts.resume(account_id, make_audit_context(caller.name, body.reason if body else ""))
        app.wakeup.notify()
        return JSONResponse(render_account(resumed))

    async def connect(
        network: str, handle: str, body: ReconnectBody, caller: Caller, brand: str | None, **how: Any
    ) -> StoredAccount:
        credentials = complete_credentials(network, handle, body.credentials, app.networks)
        check_address(app, body.base_url)
        remote_id: Any = body.remote_id or find_remote_id(credentials, app.networks.credentials[network])
        how |= {"base_url": body.base_url, "brand": brand, "remote_id": remote_id}
        return await app.accounts.add(
            network, handle, credentials, **how, act=make_audit_context(caller.name, body.reason)
        )

    return router


def check_brand(caller: Caller, brand: str | None) -> None:
    if not caller.sees(check_text("brand", brand)):
        raise WrongUse(f"brand: this key is for {', '.join(sorted(caller.brands or ()))}.", "brand")


def check_address(app: Postino, address: str | None) -> None:
    """Not one inside the house, but for the sandbox's own and what `networks.allowed_private_origins` names."""
    if address is None or (address.startswith(SANDBOX) and app.config.sandbox.url):
        return
    if not address.startswith(("https://", "http://")):
        raise WrongUse("base_url: must begin with https:// or http://.", "base_url")
    if why := describe_unreachable(app.config, address):
        raise WrongUse(f"base_url: {address} cannot be used: {why}.", "base_url")
