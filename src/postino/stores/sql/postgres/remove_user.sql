DELETE FROM postino.users WHERE id = :id RETURNING *
