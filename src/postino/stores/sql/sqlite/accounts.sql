SELECT * FROM postino_accounts WHERE :id IS NULL OR id = :id ORDER BY created_at, id
