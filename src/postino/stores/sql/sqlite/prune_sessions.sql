DELETE FROM postino_sign_ins WHERE expires_at < :now;
DELETE FROM postino_sessions WHERE id IN (
    SELECT id FROM postino_sessions WHERE expires_at < :now ORDER BY expires_at LIMIT 100
)
