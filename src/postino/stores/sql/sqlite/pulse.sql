UPDATE postino_surroundings SET alive_at = :now
