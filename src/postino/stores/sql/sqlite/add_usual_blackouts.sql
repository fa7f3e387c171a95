INSERT INTO postino_blackouts (id, told, usual, created_at) VALUES (:id, :told, 1, :now)
ON CONFLICT (id) DO NOTHING
RETURNING told
