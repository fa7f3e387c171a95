"""The blackout windows and caps of the settings: one versioned document, which holds for all workers."""

from postino.rules.stored_settings import parse_settings
from postino.stores.operations.blackouts import set_configured_blackouts
from postino.stores.operations.gates import set_default_caps
from postino.stores.records import StoredSettings
from postino.stores.statement import Operation, ask


def write_settings(document: str, written_by: str, *, only_first: bool = False) -> Operation[StoredSettings]:
    """Store a document and apply it; return what is stored then. With `only_first` a stored one is left as it is."""
    values = {"content": document, "written_by": written_by}
    written = yield ask("insert_settings", **values)
    if not written and only_first:
        return StoredSettings(**(yield ask("get_settings"))[0], is_new=False)
    changed = written or (yield ask("update_settings", **values))
    caps, blackouts = parse_settings(document)
    yield ask("clear_default_caps", channels=sorted(caps))
    yield from set_default_caps(caps)
    yield from set_configured_blackouts(blackouts)
    return StoredSettings(**(changed or (yield ask("get_settings")))[0], is_new=bool(changed))


def read_settings() -> Operation[StoredSettings | None]:
    """Return the stored document; None if there is none yet."""
    rows = yield ask("get_settings")
    return StoredSettings(**rows[0], is_new=False) if rows else None
