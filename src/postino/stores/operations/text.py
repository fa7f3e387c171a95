"""Writing what became of jobs: fenced by the claim's token; history, events and dead letters with it."""


def clean_text(text: str | None) -> str | None:
    """Databases refuse half characters, PostgreSQL refuses NUL too; a stack trace may well contain either."""
    return text and text.replace("\x00", "\\x00").encode(errors="backslashreplace").decode()
