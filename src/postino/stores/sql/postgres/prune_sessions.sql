WITH links AS (DELETE FROM postino.sign_ins WHERE expires_at < coalesce(:now::timestamptz, now()))
DELETE FROM postino.sessions WHERE id IN (
    SELECT id FROM postino.sessions WHERE expires_at < coalesce(:now::timestamptz, now()) ORDER BY expires_at LIMIT 100
)
