"""Render API keys and users, without secrets and password hashes."""

from postino.api.views.fields import to_json
from postino.client.types.auth import ApiKeyView, UserView
from postino.values.auth import ApiKey, User


def render_api_key(key: ApiKey) -> ApiKeyView:
    return {
        "id": str(key.id),
        "name": key.name,
        "prefix": key.prefix,
        "role": to_json(key.role),
        "brands": render_names(key.brands),
        "job_types": render_names(key.job_types),
        "created_by": key.created_by,
        "created_at": to_json(key.created_at),
        "expires_at": to_json(key.expires_at),
        "last_used_at": to_json(key.last_used_at),
    }


def render_user(user: User) -> UserView:
    return {
        "id": str(user.id),
        "name": user.name,
        "role": to_json(user.role),
        "brands": render_names(user.brands),
        "has_password": user.password is not None,
        "created_by": user.created_by,
        "created_at": to_json(user.created_at),
    }


def render_names(names: frozenset[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)
