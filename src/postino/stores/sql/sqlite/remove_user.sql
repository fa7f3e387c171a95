DELETE FROM postino_users WHERE id = :id RETURNING *
