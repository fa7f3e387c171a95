-- Closed since it was first closed; a longer time is never cut short.
INSERT INTO postino_gates (scope, name, kind, since_at, until_at, reason, times)
VALUES (:scope, :name, :kind, :now, :until_at, :reason, :times)
ON CONFLICT (scope, name, kind) DO UPDATE
SET since_at = CASE WHEN until_at > :now THEN since_at ELSE excluded.since_at END,
    until_at = max(until_at, excluded.until_at), reason = excluded.reason, times = excluded.times
RETURNING scope, name, kind, since_at, until_at, reason
