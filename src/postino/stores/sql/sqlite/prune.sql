-- A bounded number of rows at a time: a storm of deletes would hold up everybody else.
DELETE FROM postino_finished WHERE rowid IN (
    SELECT rowid FROM postino_finished WHERE finished_at < strftime('%Y-%m-%dT%H:%M:%f', :now, '-' || :finished_days || ' days') LIMIT 1000
) RETURNING 1 AS pruned, 0 AS made;
DELETE FROM postino_attempts WHERE rowid IN (
    SELECT rowid FROM postino_attempts WHERE ended_at < strftime('%Y-%m-%dT%H:%M:%f', :now, '-' || :finished_days || ' days') LIMIT 1000
) RETURNING 1 AS pruned, 0 AS made;
DELETE FROM postino_events WHERE seq IN (
    SELECT seq FROM postino_events WHERE at < strftime('%Y-%m-%dT%H:%M:%f', :now, '-' || :event_days || ' days') LIMIT 1000
) RETURNING 1 AS pruned, 0 AS made
