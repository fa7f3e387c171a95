SELECT * FROM postino.accounts WHERE :id::text IS NULL OR id = :id ORDER BY created_at, id
