INSERT INTO postino.blackouts (id, told, usual, created_at)
SELECT b.id, b.told, true, coalesce(:now::timestamptz, now()) FROM unnest(:id::uuid[], :told::text[]) AS b (id, told)
ON CONFLICT (id) DO NOTHING
RETURNING told
