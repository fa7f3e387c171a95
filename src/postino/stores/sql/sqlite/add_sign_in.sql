INSERT INTO postino_sign_ins (id, user_id, digest, created_at, expires_at)
VALUES (:id, :user_id, :digest, :now, :expires_at)
