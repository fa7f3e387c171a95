SELECT cause FROM postino.dead_letters WHERE id = :id AND generation = :generation
