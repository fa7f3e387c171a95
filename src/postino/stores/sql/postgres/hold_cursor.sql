INSERT INTO postino.cursors AS cursor (listener, holder, held_until_at)
VALUES (:listener, :holder, coalesce(:now::timestamptz, now()) + make_interval(secs => :seconds))
ON CONFLICT (listener) DO UPDATE SET holder = excluded.holder, held_until_at = excluded.held_until_at
WHERE cursor.holder IS NULL OR cursor.holder = excluded.holder OR cursor.held_until_at < coalesce(:now::timestamptz, now())
RETURNING xid::text::bigint AS xid, seq
