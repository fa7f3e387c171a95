UPDATE postino.duties SET done_at = coalesce(:now::timestamptz, now()), held_until_at = NULL
WHERE duty = :duty AND holder = :holder
