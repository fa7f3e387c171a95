-- Who comes first with a key makes it; whoever comes at the same time waits here until that is over.
INSERT INTO postino_answers (caller, key, request, what, created_at) VALUES (:caller, :key, :request, :what, :now)
ON CONFLICT (caller, key) DO NOTHING
RETURNING key
