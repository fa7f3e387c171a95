"""Outbound HTTP: the only client that calls other servers, and the check against server-side request forgery (SSRF)."""
