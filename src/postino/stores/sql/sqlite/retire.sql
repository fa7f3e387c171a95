DELETE FROM postino_workers WHERE id = :id
