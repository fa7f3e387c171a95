INSERT INTO postino_sessions (id, user_id, digest, created_at, seen_at, expires_at)
VALUES (:id, :user_id, :digest, :now, :now, :expires_at)
RETURNING *
