SELECT * FROM postino.users WHERE id = :id
