DELETE FROM postino_sign_ins WHERE id = :id RETURNING user_id
