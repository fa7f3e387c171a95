DELETE FROM postino.gates WHERE scope = :scope AND name = :name AND kind = :kind AND until_at > coalesce(:now::timestamptz, now())
RETURNING scope, name, kind, since_at, until_at, reason
