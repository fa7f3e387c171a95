UPDATE postino.workers SET beats = beats + 1 WHERE id = :worker RETURNING beats
