INSERT INTO postino_blackouts (id, told, created_at) VALUES (:id, :told, :now)
