INSERT INTO postino.users (id, name, password, role, brands, created_by, created_at)
VALUES (:id, :name, :password, :role, :brands, :created_by, coalesce(:now::timestamptz, now()))
ON CONFLICT (name) DO NOTHING
RETURNING *
