-- name: list_events
SELECT 0 AS xid, seq, at, type, job_id, data FROM postino.events
WHERE :xid = 0 AND seq > :seq
ORDER BY seq
LIMIT :limit

-- name: get_last_event
SELECT 0 AS xid, seq FROM postino.events ORDER BY seq DESC LIMIT 1

-- name: lease_cursor
INSERT INTO postino.cursors (listener, holder, held_until_at)
VALUES (:listener, :holder, :now + make_interval(secs => :seconds))
ON CONFLICT (listener) DO UPDATE SET holder = excluded.holder, held_until_at = excluded.held_until_at
WHERE holder IS NULL OR holder = excluded.holder OR held_until_at < :now
RETURNING 0 AS xid, seq

-- name: move_cursor
UPDATE postino.cursors
SET seq = :seq,
    held_until_at = max(held_until_at, :now + make_interval(secs => :seconds))
WHERE :xid = 0 AND listener = :listener AND holder = :holder
RETURNING listener
