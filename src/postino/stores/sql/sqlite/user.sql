SELECT * FROM postino_users WHERE id = :id
