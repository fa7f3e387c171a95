UPDATE postino.surroundings SET alive_at = coalesce(:now::timestamptz, now())
