"""`/v1/accounts`: accounts on networks. Credentials are stored encrypted and never returned."""

from typing import Annotated, Any

from fastapi import Path
from fastapi.responses import JSONResponse
from pydantic import Field

from postino.api.caller import Caller
from postino.api.context import Context, RequestContext
from postino.api.models import Name, Reason, ReasonBody, Strict
from postino.api.query import BRAND, NETWORK, choice_parameter
from postino.api.routes import Link, Routes
from postino.api.views.accounts import render_account
from postino.api.visibility import get_visible_account
from postino.client.types.accounts import AccountCheckView, AccountView
from postino.client.types.schema import Doc, Page
from postino.engine.checks import check_label
from postino.errors import Conflict, WrongUse
from postino.publishing.accounts import complete_credentials, find_remote_id
from postino.values.auth import Role
from postino.values.base_url import SANDBOX, normalize_base_url
from postino.values.post import AccountState, StoredAccount
from postino.wiring import Postino, describe_unreachable
from postino.wiring import check_account as check_with_network

routes = Routes("accounts")
Credentials = Annotated[dict[str, Annotated[str, Field(max_length=10_000)]], Field(max_length=20, repr=False)]
AccountId = Annotated[str, Path(description="Id of the account, such as `mastodon:acme`.")]
STATE = choice_parameter("state", "Only accounts in this state.", [*AccountState])


class ReconnectBody(Strict):
    """New credentials of an account."""

    credentials: Annotated[
        Credentials,
        Doc(
            "Credentials that the network needs, such as an access token. Postino encrypts them and never returns them."
        ),
    ]
    base_url: Annotated[
        Name | None,
        Doc(
            "URL of the account's server. Left out: a reconnected account keeps its server, and a new account gets the"
            " default server of the network, if there is one."
        ),
    ] = None
    brand: Annotated[
        Name | None,
        Doc("Brand of the account. Left out: a reconnected account keeps its brand, and a new account has none."),
    ] = None
    remote_id: Annotated[Name | None, Doc("Id of the account on its network, where the network needs it.")] = None
    reason: Annotated[Reason, Doc("The reason, for the audit trail.")] = ""


class AccountBody(ReconnectBody):
    """An account to connect."""

    network: Annotated[Name, Doc("Name of the network, such as `mastodon`.")]
    handle: Annotated[str, Field(min_length=1, max_length=300), Doc("Name of the account on its network.")]


@routes.add("GET", "/v1/accounts", role=Role.VIEWER, query=(NETWORK, BRAND, STATE), responses={200: Page[AccountView]})
async def list_accounts(context: Context) -> JSONResponse:
    """List accounts.

    Returns all accounts in one page, oldest first.
    """
    accounts = [one for one in await context.app.store.accounts() if context.caller.can_see(one.brand)]
    views = [render_account(account) for account in accounts]
    network, brand, state = (context.query[parameter] for parameter in (NETWORK, BRAND, STATE))
    data = [
        view
        for view in views
        if network in (None, view["network"]) and brand in (None, view["brand"]) and state in (None, view["state"])
    ]
    return JSONResponse({"data": data, "next_cursor": None})


@routes.add(
    "POST",
    "/v1/accounts",
    role=Role.OWNER,
    responses={201: AccountView},
    errors={409: "The account exists. Use `POST /v1/accounts/{account_id}/reconnect` to give it new credentials."},
    links=(Link(201, "/v1/accounts/{account_id}", "/id"),),
)
async def create_account(body: AccountBody, context: Context) -> JSONResponse:
    """Create account.

    Adds a new account. If the account exists, the response is 409; reconnect it with `POST
    /v1/accounts/{account_id}/reconnect`.
    """
    check_label("handle", body.handle)
    check_brand(context.caller, body.brand)
    account_id = f"{body.network}:{body.handle}"
    for account in await context.app.store.accounts_by_id([account_id]):
        advice = "Reconnect it" if context.caller.can_see(account.brand) else "Ask an owner of all brands"
        raise Conflict(f"Account {account_id} exists already. {advice}. Nothing was changed.")
    account = await connect(context, body.network, body.handle, body, body.brand, new=True)
    return JSONResponse(render_account(account), 201)


@routes.add("GET", "/v1/accounts/{account_id}", role=Role.VIEWER, responses={200: AccountView})
async def get_account(account_id: AccountId, context: Context) -> JSONResponse:
    """Get account.

    Returns one account without its credentials.
    """
    return JSONResponse(render_account(await get_visible_account(context.app, context.caller, account_id)))


@routes.add(
    "POST",
    "/v1/accounts/{account_id}/check",
    role=Role.EDITOR,
    responses={200: AccountCheckView},
    errors={
        409: "Postino cannot check accounts of this network, or asks no network because the database may be a copy or a"
        " backup. Or another request changed the account in the meantime."
    },
)
async def check_account(account_id: AccountId, context: Context) -> JSONResponse:
    """Check account.

    Asks the network whether it accepts the credentials. `works` is null if the check has no result.
    """
    await get_visible_account(context.app, context.caller, account_id)
    result = await check_with_network(context.app, account_id, context.act("checked"))
    account = render_account(result.account)
    return JSONResponse({"works": result.works, "message": result.message, "account": account})


@routes.add(
    "POST",
    "/v1/accounts/{account_id}/reconnect",
    role=Role.OWNER,
    responses={200: AccountView},
    errors={
        409: "Another request changed the account, or the account has waiting posts and cannot move to another brand."
    },
)
async def reconnect_account(account_id: AccountId, body: ReconnectBody, context: Context) -> JSONResponse:
    """Reconnect account.

    Replaces the credentials of an account and releases posts that wait for new credentials.
    """
    known = await get_visible_account(context.app, context.caller, account_id)
    brand = known.brand if body.brand is None else body.brand
    check_brand(context.caller, brand)
    account = await connect(context, known.network, known.handle, body, brand, before=known)
    context.app.wakeup.notify()
    return JSONResponse(render_account(account))


@routes.add(
    "POST",
    "/v1/accounts/{account_id}/pause",
    role=Role.EDITOR,
    responses={200: AccountView},
    errors={409: "Another request changed the account in the meantime."},
)
async def pause_account(account_id: AccountId, context: Context, body: ReasonBody | None = None) -> JSONResponse:
    """Pause account.

    Stops publishing posts of an account until you resume it.
    """
    await get_visible_account(context.app, context.caller, account_id)
    account = await context.app.accounts.pause(account_id, context.act(body.reason if body else ""))
    return JSONResponse(render_account(account))


@routes.add(
    "POST",
    "/v1/accounts/{account_id}/resume",
    role=Role.EDITOR,
    responses={200: AccountView},
    errors={
        409: "The account is neither paused nor suspended, or another request changed the account in the meantime."
    },
)
async def resume_account(account_id: AccountId, context: Context, body: ReasonBody | None = None) -> JSONResponse:
    """Resume account.

    Ends the pause or the suspension of an account. Postino then publishes the posts of the account again. Resume a
    suspended account after the network has lifted the suspension.
    """
    await get_visible_account(context.app, context.caller, account_id)
    account = await context.app.accounts.resume(account_id, context.act(body.reason if body else ""))
    context.app.wakeup.notify()
    return JSONResponse(render_account(account))


async def connect(
    context: RequestContext, network: str, handle: str, body: ReconnectBody, brand: str | None, **how: Any
) -> StoredAccount:
    app = context.app
    credentials = complete_credentials(network, handle, body.credentials, app.networks)
    check_base_url(app, body.base_url, network)
    remote_id: Any = body.remote_id or find_remote_id(credentials, app.networks.credentials[network])
    how |= {"base_url": body.base_url, "brand": brand, "remote_id": remote_id}
    return await app.accounts.add(network, handle, credentials, **how, act=context.act(body.reason))


def check_brand(caller: Caller, brand: str | None) -> None:
    if not caller.can_see(check_label("brand", brand)):
        allowed = ", ".join(sorted(caller.brands or ()))
        raise WrongUse(f"brand: choose one of the brands that you have access to: {allowed}.", "brand")


def check_base_url(app: Postino, url: str | None, network: str) -> None:
    """Reject private addresses and those without TLS, except the sandbox and what the settings list."""
    if url is None or (normalize_base_url(url, network).startswith(SANDBOX) and app.config.sandbox.url):
        return
    if reason := describe_unreachable(app.config, url):
        raise WrongUse(f"base_url: {url} cannot be used: {reason}.", "base_url")
