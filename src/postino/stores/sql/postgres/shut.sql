-- Closed since it was first closed; a longer time is never cut short.
INSERT INTO postino.gates (scope, name, kind, since_at, until_at, reason, times)
VALUES (:scope, :name, :kind, coalesce(:now::timestamptz, now()), :until_at, :reason, :times)
ON CONFLICT (scope, name, kind) DO UPDATE
SET since_at = CASE WHEN gates.until_at > coalesce(:now::timestamptz, now()) THEN gates.since_at ELSE excluded.since_at END,
    until_at = greatest(gates.until_at, excluded.until_at), reason = excluded.reason, times = excluded.times
RETURNING scope, name, kind, since_at, until_at, reason
