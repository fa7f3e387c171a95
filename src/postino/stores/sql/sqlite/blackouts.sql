SELECT id, told FROM postino_blackouts ORDER BY created_at, id
