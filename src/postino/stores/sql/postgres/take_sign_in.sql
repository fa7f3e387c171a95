DELETE FROM postino.sign_ins WHERE id = :id RETURNING user_id
