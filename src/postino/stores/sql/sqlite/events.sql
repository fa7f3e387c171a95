-- name: insert_post_events
-- A job that is not a post has no row in posts, and so no content id.
INSERT INTO postino.events (at, type, job_id, data)
SELECT :now, :type, post.id, CASE WHEN :type = 'post.published'
    THEN json_set(:data, '$.content_id', post.content_id, '$.published_at', :now)
    ELSE json_set(:data, '$.content_id', post.content_id) END
FROM postino.posts AS post WHERE post.id = :id

-- name: list_events
SELECT 0 AS xid, seq, at, type, job_id, data FROM postino.events
WHERE :xid = 0 AND seq > :seq
ORDER BY seq
LIMIT :limit

-- name: get_last_event
SELECT 0 AS xid, seq FROM postino.events ORDER BY seq DESC LIMIT 1

-- name: find_event_delay
-- One writer at a time: events are read in the order of their commits, and wait for nothing.
SELECT NULL AS pid, NULL AS application, NULL AS database, NULL AS prepared, NULL AS since_at WHERE :seconds < 0

-- name: lease_cursor
INSERT INTO postino.cursors (listener, seq, holder, held_until_at)
VALUES (:listener, CASE WHEN :from_start THEN 0 ELSE coalesce((SELECT max(seq) FROM postino.events), 0) END, :holder,
        :now + make_interval(secs => :seconds))
ON CONFLICT (listener) DO UPDATE SET holder = excluded.holder, held_until_at = excluded.held_until_at
WHERE holder IS NULL OR holder = excluded.holder OR held_until_at < :now
RETURNING 0 AS xid, seq, FALSE AS is_ahead

-- name: move_cursor
UPDATE postino.cursors
SET seq = :seq,
    held_until_at = max(held_until_at, :now + make_interval(secs => :seconds))
WHERE :xid = 0 AND listener = :listener AND holder = :holder
RETURNING listener
