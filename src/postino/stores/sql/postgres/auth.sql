-- name: delete_sessions
WITH links AS (DELETE FROM postino.sign_in_links WHERE user_id = :user_id)
DELETE FROM postino.sessions WHERE user_id = :user_id AND id <> :kept

-- name: prune_sessions
WITH links AS (DELETE FROM postino.sign_in_links WHERE expires_at < :now)
DELETE FROM postino.sessions WHERE id IN (
    SELECT id FROM postino.sessions WHERE expires_at < :now ORDER BY expires_at LIMIT 100
)
