INSERT INTO postino.contents (id, text, words, brand, user_id, version, created_at)
VALUES (:id, :text, :words, :brand, :user_id, :version, coalesce(:now::timestamptz, now()))
ON CONFLICT (id) DO NOTHING
