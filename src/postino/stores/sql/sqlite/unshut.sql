DELETE FROM postino_gates WHERE scope = :scope AND name = :name AND kind = :kind AND until_at > :now
RETURNING scope, name, kind, since_at, until_at, reason
