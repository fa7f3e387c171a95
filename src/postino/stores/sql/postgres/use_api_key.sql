UPDATE postino.api_keys SET last_used_at = coalesce(:now::timestamptz, now()) WHERE id = :id
