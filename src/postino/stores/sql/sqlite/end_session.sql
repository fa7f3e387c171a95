DELETE FROM postino_sessions WHERE id = :id RETURNING user_id
