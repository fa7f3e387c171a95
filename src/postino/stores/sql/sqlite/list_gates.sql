SELECT scope, name, kind, since_at, until_at, reason FROM postino_gates ORDER BY scope, name, kind
