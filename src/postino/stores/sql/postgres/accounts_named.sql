SELECT * FROM postino.accounts WHERE id = ANY (:ids::text[])
