SELECT * FROM postino_accounts WHERE id = :id
