INSERT INTO postino_users (id, name, password, role, brands, created_by, created_at)
VALUES (:id, :name, :password, :role, :brands, :created_by, :now)
ON CONFLICT (name) DO NOTHING
RETURNING *
