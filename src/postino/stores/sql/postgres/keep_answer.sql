-- Who comes first with a key makes it; whoever comes at the same time waits here until that is over.
-- In the order of the keys, so that two who bring the same ones wait for each other instead of deadlocking.
INSERT INTO postino.answers (caller, key, request, what, created_at)
SELECT caller, key, request, what, coalesce(:now::timestamptz, now())
FROM unnest(:caller::text[], :key::text[], :request::text[], :what::text[]) WITH ORDINALITY
    AS i (caller, key, request, what, position)
ORDER BY caller, key, position
ON CONFLICT (caller, key) DO NOTHING
RETURNING caller, key
