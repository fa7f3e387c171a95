INSERT INTO postino_gates (scope, name, paused_at, reason) VALUES (:scope, :name, :now, :reason)
ON CONFLICT (scope, name) DO UPDATE SET paused_at = coalesce(paused_at, excluded.paused_at), reason = excluded.reason
RETURNING *
