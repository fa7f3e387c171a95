UPDATE postino_dead_letters SET resolved_at = :now, resolution = 'discarded'
WHERE id = :id AND generation = :generation AND resolved_at IS NULL
RETURNING *
