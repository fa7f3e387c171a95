INSERT INTO postino.blackouts (id, told, created_at) VALUES (:id, :told, coalesce(:now::timestamptz, now()))
