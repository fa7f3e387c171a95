"""Build the URLs of a network's API and of the public pages where people see a post."""

from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def join_url(base_url: str, path: str) -> str:
    return f"{base_url.rstrip('/')}/{path.lstrip('/')}"


def build_page_url(base_url: str, public_url: str) -> str:
    """Return the post's public page; for a network in the sandbox, the sandbox's feed."""
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc}/" if parts.hostname in LOOPBACK else public_url
