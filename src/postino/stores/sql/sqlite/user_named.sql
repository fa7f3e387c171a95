SELECT * FROM postino_users WHERE name = :name
