"""Text that every database can store."""


def clean_text(text: str | None) -> str | None:
    """Escape NUL and lone surrogates, which databases refuse and stack traces may contain."""
    return text and text.replace("\x00", "\\x00").encode(errors="backslashreplace").decode()
