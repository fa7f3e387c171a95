UPDATE postino_sessions SET seen_at = :now WHERE id = :id
