SELECT * FROM postino.dead_letters WHERE id = :id ORDER BY generation DESC LIMIT 1 FOR UPDATE
