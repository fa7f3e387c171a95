SELECT identity, alive_at FROM postino.surroundings WHERE id = 1 FOR UPDATE
