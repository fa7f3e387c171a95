DELETE FROM postino.sessions WHERE id = :id RETURNING user_id
