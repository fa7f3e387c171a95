DELETE FROM postino.workers WHERE id = :id
