INSERT INTO postino_cursors (listener, holder, held_until_at)
VALUES (:listener, :holder, strftime('%Y-%m-%dT%H:%M:%f', :now, '+' || :seconds || ' seconds') || '000Z')
ON CONFLICT (listener) DO UPDATE SET holder = excluded.holder, held_until_at = excluded.held_until_at
WHERE holder IS NULL OR holder = excluded.holder OR held_until_at < :now
RETURNING 0 AS xid, seq
