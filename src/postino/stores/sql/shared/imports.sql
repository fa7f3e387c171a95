-- name: upsert_import
-- The same file again is the same import. It is checked anew unless it is being saved.
INSERT INTO postino.imports AS known (id, caller, author, state, token, file, timezone, rows, faults, created_at,
  changed_at)
VALUES (:id, :caller, :author, 'checked', :token, :file, :timezone, :rows, :faults, :now, :now)
ON CONFLICT (caller, token) DO UPDATE SET state = 'checked', file = excluded.file, faults = excluded.faults, looked = 0,
    created = 0, known = 0, changed_at = excluded.changed_at
WHERE known.state <> 'saving'
RETURNING *

-- name: get_import
SELECT * FROM postino.imports WHERE id = :id

-- name: find_import
SELECT * FROM postino.imports WHERE caller = :caller AND token = :token

-- name: advance_import
-- Compare-and-set on `looked`: of two requests that save the same file, one saves these rows; the other waits and finds
-- them saved.
UPDATE postino.imports SET state = 'saving', looked = :upto, faults = :faults, changed_at = :now
WHERE id = :id AND looked = :looked AND state <> 'saved'
RETURNING id

-- name: add_import_counts
UPDATE postino.imports SET created = created + :created, known = known + :known WHERE id = :id

-- name: finish_import
-- SQLite returns NULL for a part of an empty blob.
UPDATE postino.imports SET state = 'saved', file = coalesce(substr(file, 1, 0), file), faults = :faults,
  changed_at = :now WHERE id = :id RETURNING *

-- name: prune_imports
-- Imports that were checked long ago and never saved.
DELETE FROM postino.imports WHERE state = 'checked' AND changed_at < :now - make_interval(days => :days)
