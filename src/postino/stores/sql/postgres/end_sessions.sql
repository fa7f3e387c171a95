WITH links AS (DELETE FROM postino.sign_ins WHERE user_id = :user_id)
DELETE FROM postino.sessions WHERE user_id = :user_id
