DELETE FROM postino.blackouts WHERE id = :id RETURNING id, told
