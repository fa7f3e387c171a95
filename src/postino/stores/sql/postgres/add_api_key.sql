INSERT INTO postino.api_keys (id, name, prefix, digest, role, brands, created_by, created_at, expires_at)
VALUES (:id, :name, :prefix, :digest, :role, :brands, :created_by, coalesce(:now::timestamptz, now()), :expires_at)
ON CONFLICT (name) DO NOTHING
RETURNING *
