"""Where a network's calls go, and where people look at what came of them."""

from urllib.parse import urlsplit

THIS_MACHINE = ("127.0.0.1", "localhost", "::1")


def endpoint(base_url: str, path: str) -> str:
    return f"{base_url.rstrip('/')}/{path.lstrip('/')}"


def page(base_url: str, public: str) -> str:
    """The public page; for a network simulated on this machine, the page that shows what it has."""
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc}/" if parts.hostname in THIS_MACHINE else public
