DELETE FROM postino_sign_ins WHERE user_id = :user_id;
DELETE FROM postino_sessions WHERE user_id = :user_id
