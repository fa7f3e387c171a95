UPDATE postino.dead_letters SET resolved_at = coalesce(:now::timestamptz, now()), resolution = 'discarded'
WHERE id = :id AND generation = :generation AND resolved_at IS NULL
RETURNING *
