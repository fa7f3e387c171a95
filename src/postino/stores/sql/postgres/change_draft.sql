-- Only the version that was read: two who change it at once do not undo each other's changes.
UPDATE postino.drafts SET said = :said, brand = :brand, version = version + 1, changed_at = coalesce(:now::timestamptz, now())
WHERE id = :id AND version = :version
RETURNING *
