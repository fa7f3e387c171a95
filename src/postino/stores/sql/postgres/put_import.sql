-- The same file again is the same import: checked anew, unless it is just being saved.
INSERT INTO postino.imports AS known (id, caller, author, state, token, file, timezone, rows, faults, created_at, changed_at)
VALUES (:id, :caller, :author, 'checked', :token, :file, :timezone, :rows, :faults, coalesce(:now::timestamptz, now()), coalesce(:now::timestamptz, now()))
ON CONFLICT (caller, token) DO UPDATE SET state = 'checked', file = excluded.file, faults = excluded.faults, looked = 0,
    created = 0, known = 0, changed_at = excluded.changed_at
WHERE known.state <> 'saving'
RETURNING *
