-- name: insert_post_events
-- In the order of the rows. A job that is not a post has no row in posts, and so no content id.
INSERT INTO postino.events (at, type, job_id, data)
SELECT :now, input.type, input.id, (input.data::jsonb || jsonb_build_object('content_id', post.content_id)
    || CASE WHEN input.type = 'post.published'
       THEN jsonb_build_object('published_at', to_char(:now AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
       ELSE '{}' END)::text
FROM unnest(:id::uuid[], :type::text[], :data::text[]) WITH ORDINALITY AS input (id, type, data, number)
JOIN postino.posts AS post ON post.id = input.id
ORDER BY input.number

-- name: list_events
-- Below the oldest running transaction nothing can be inserted any more.
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
