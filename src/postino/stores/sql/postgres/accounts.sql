SELECT * FROM postino.accounts ORDER BY created_at, id
