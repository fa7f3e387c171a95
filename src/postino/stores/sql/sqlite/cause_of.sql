SELECT cause FROM postino_dead_letters WHERE id = :id AND generation = :generation
