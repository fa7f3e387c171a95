SELECT id, told FROM postino.blackouts ORDER BY created_at, id
