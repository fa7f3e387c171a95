INSERT INTO postino.contents (id, text, words, brand, user_id, version, created_at)
SELECT id, text, words, brand, user_id, version, coalesce(:now::timestamptz, now())
FROM unnest(:id::uuid[], :text::text[], :words::text[], :brand::text[], :user_id::text[], :version::int[])
    AS i (id, text, words, brand, user_id, version)
ON CONFLICT (id) DO NOTHING
