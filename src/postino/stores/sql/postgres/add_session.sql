INSERT INTO postino.sessions (id, user_id, digest, created_at, seen_at, expires_at)
VALUES (:id, :user_id, :digest, coalesce(:now::timestamptz, now()), coalesce(:now::timestamptz, now()), :expires_at)
RETURNING *
