INSERT INTO postino.sign_ins (id, user_id, digest, created_at, expires_at)
VALUES (:id, :user_id, :digest, coalesce(:now::timestamptz, now()), :expires_at)
