DELETE FROM postino_blackouts WHERE id = :id RETURNING id, told
