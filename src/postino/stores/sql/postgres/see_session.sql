UPDATE postino.sessions SET seen_at = coalesce(:now::timestamptz, now()) WHERE id = :id
