"""Render accounts, without their credentials."""

from postino.api.views.fields import to_json
from postino.client.types.accounts import AccountView
from postino.config import redact_url
from postino.values.base_url import SANDBOX
from postino.values.post import StoredAccount


def render_account(account: StoredAccount) -> AccountView:
    is_sandbox = account.base_url.startswith(SANDBOX)
    return {
        "id": account.id,
        "network": account.network,
        "handle": account.handle,
        "state": to_json(account.state),
        "reason": account.reason,
        "brand": account.brand,
        "remote_id": account.remote_id,
        "base_url": account.base_url if is_sandbox else redact_url(account.base_url),
        "service": account.service,
        "sandbox": is_sandbox,
        "created_at": to_json(account.created_at),
    }
