-- Who comes first with a key makes it.
INSERT INTO postino_answers (caller, key, request, what, created_at) VALUES (:caller, :key, :request, :what, :now)
ON CONFLICT (caller, key) DO NOTHING
RETURNING caller, key
