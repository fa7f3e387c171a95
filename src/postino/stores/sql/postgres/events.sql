-- name: list_events
-- Below the oldest running transaction everything is decided: nothing can appear there any more.
SELECT xid::text::bigint AS xid, seq, at, type, job_id, data FROM postino.events
WHERE (xid, seq) > (:xid::bigint::text::xid8, :seq::bigint) AND xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY xid, seq
LIMIT :limit

-- name: get_last_event
SELECT xid::text::bigint AS xid, seq FROM postino.events
WHERE xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY xid DESC, seq DESC
LIMIT 1

-- name: lease_cursor
INSERT INTO postino.cursors AS cursor (listener, holder, held_until_at)
VALUES (:listener, :holder, :now + make_interval(secs => :seconds))
ON CONFLICT (listener) DO UPDATE SET holder = excluded.holder, held_until_at = excluded.held_until_at
WHERE cursor.holder IS NULL OR cursor.holder = excluded.holder OR cursor.held_until_at < :now
RETURNING xid::text::bigint AS xid, seq

-- name: move_cursor
UPDATE postino.cursors
SET xid = :xid::bigint::text::xid8, seq = :seq,
    held_until_at = greatest(held_until_at, :now + make_interval(secs => :seconds))
WHERE listener = :listener AND holder = :holder
RETURNING listener
