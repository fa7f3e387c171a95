-- name: get_settings
SELECT version, content, written_by, written_at FROM postino.settings

-- name: insert_settings
INSERT INTO postino.settings (id, version, content, written_by, written_at)
VALUES (1, 1, :content, :written_by, :now)
ON CONFLICT (id) DO NOTHING
RETURNING version, content, written_by, written_at

-- name: update_settings
UPDATE postino.settings SET version = version + 1, content = :content, written_by = :written_by, written_at = :now
WHERE id = 1 AND content <> :content
RETURNING version, content, written_by, written_at

-- name: clear_default_caps
UPDATE postino.caps SET default_cap = NULL WHERE default_cap IS NOT NULL AND channel <> ALL (:channels::text[])
