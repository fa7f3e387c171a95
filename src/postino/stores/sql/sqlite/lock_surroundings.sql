SELECT identity, alive_at FROM postino_surroundings WHERE id = 1
