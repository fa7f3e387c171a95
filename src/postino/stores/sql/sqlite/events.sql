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
