INSERT INTO postino_contents (id, text, words, brand, user_id, version, created_at)
VALUES (:id, :text, :words, :brand, :user_id, :version, :now)
ON CONFLICT (id) DO NOTHING
