-- name: upsert_import
-- The same file again is the same import. It is checked anew unless it is being saved.
INSERT INTO postino.imports AS stored (id, caller, author, state, token, file, timezone, rows, problems, created_at,
  changed_at)
VALUES (:id, :caller, :author, 'checked', :token, :file, :timezone, :rows, :problems, :now, :now)
ON CONFLICT (caller, token) DO UPDATE SET state = 'checked', file = excluded.file, problems = excluded.problems, processed_rows = 0,
    created = 0, existing = 0, changed_at = excluded.changed_at
WHERE stored.state <> 'saving'
RETURNING *

-- name: get_import
-- Without the file, which is large.
SELECT id, caller, author, token, timezone, rows, problems, state, processed_rows, created, existing, created_at, changed_at
FROM postino.imports WHERE id = :id

-- name: find_import
SELECT * FROM postino.imports WHERE caller = :caller AND token = :token

-- name: advance_import
-- Compare-and-set on `processed_rows`: of two requests that save the same file, one saves these rows; the other waits and finds
-- them saved.
UPDATE postino.imports SET state = 'saving', processed_rows = :upto, problems = :problems, changed_at = :now
WHERE id = :id AND processed_rows = :processed_rows AND state <> 'saved'
RETURNING id

-- name: add_import_counts
UPDATE postino.imports SET created = created + :created, existing = existing + :existing WHERE id = :id

-- name: finish_import
-- SQLite returns NULL for a part of an empty blob.
UPDATE postino.imports SET state = 'saved', file = coalesce(substr(file, 1, 0), file), problems = :problems,
  changed_at = :now WHERE id = :id RETURNING *

-- name: prune_imports
-- Imports that were checked long ago and never saved.
DELETE FROM postino.imports WHERE state = 'checked' AND changed_at < :now - make_interval(days => :days)

-- name: prune_imports_by_caller
-- The oldest files that a caller checked and did not save, beside the one that is checked now. SQLite wants a LIMIT.
DELETE FROM postino.imports WHERE id IN (
  SELECT id FROM postino.imports WHERE caller = :caller AND token <> :token AND state = 'checked'
  ORDER BY changed_at DESC, id DESC LIMIT 1000000 OFFSET :kept)
