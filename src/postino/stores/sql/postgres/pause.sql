INSERT INTO postino.gates (scope, name, paused_at, reason) VALUES (:scope, :name, coalesce(:now::timestamptz, now()), :reason)
ON CONFLICT (scope, name) DO UPDATE SET paused_at = coalesce(gates.paused_at, excluded.paused_at), reason = excluded.reason
RETURNING *
