INSERT INTO postino_contents (id, text, brand, user_id, version, created_at)
VALUES (:id, :text, :brand, :user_id, :version, :now)
ON CONFLICT (id) DO NOTHING
