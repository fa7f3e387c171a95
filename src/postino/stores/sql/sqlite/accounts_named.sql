SELECT * FROM postino_accounts WHERE id IN (SELECT value FROM json_each(:ids))
