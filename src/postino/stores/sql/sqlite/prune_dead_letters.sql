DELETE FROM postino_dead_letters WHERE rowid IN (
    SELECT rowid FROM postino_dead_letters
    WHERE resolved_at < strftime('%Y-%m-%dT%H:%M:%f', :now, '-' || :dead_letter_days || ' days')
    LIMIT 1000
) RETURNING id
