SELECT * FROM postino_accounts ORDER BY created_at, id
