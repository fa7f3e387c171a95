SELECT scope, name, kind, since_at, until_at, reason, times FROM postino.gates WHERE scope = :scope AND name = :name
