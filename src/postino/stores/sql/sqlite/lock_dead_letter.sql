SELECT * FROM postino_dead_letters WHERE id = :id ORDER BY generation DESC LIMIT 1
