SELECT * FROM postino.users WHERE name = :name
