INSERT INTO postino.contents (id, text, brand, user_id, version, created_at)
VALUES (:id, :text, :brand, :user_id, :version, coalesce(:now::timestamptz, now()))
ON CONFLICT (id) DO NOTHING
