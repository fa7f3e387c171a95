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

-- name: find_event_delay
-- The oldest running transaction of the whole server, below which readers of events stay. Every transaction locks its
-- own id, which everybody can see; what else pg_stat_activity has of others' sessions, it shows to some roles only.
-- Where it hides the start, the oldest event that is held back tells how long the delay is.
SELECT own_lock.pid, activity.application_name AS application, coalesce(activity.datname, prepared.database) AS database,
    prepared.gid AS prepared, coalesce(activity.xact_start, prepared.prepared, held.at) AS since_at
FROM (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS xid) AS oldest
JOIN pg_locks AS own_lock ON own_lock.locktype = 'transactionid' AND own_lock.granted
    AND own_lock.mode = 'ExclusiveLock' AND own_lock.transactionid = oldest.xid::xid
LEFT JOIN pg_stat_activity AS activity ON activity.pid = own_lock.pid
LEFT JOIN pg_prepared_xacts AS prepared ON prepared.transaction = own_lock.transactionid
LEFT JOIN LATERAL (
    SELECT at FROM postino.events WHERE xid >= oldest.xid ORDER BY xid, seq LIMIT 1
) AS held ON true
WHERE coalesce(activity.xact_start, prepared.prepared, held.at) < clock_timestamp() - make_interval(secs => :seconds)
LIMIT 1

-- name: lease_cursor
-- A new cursor is at the last event below the oldest running transaction: what commits later is heard, even if it was
-- written earlier.
INSERT INTO postino.cursors AS cursor (listener, xid, seq, holder, held_until_at)
SELECT :listener, coalesce(last.xid, '0'::xid8), coalesce(last.seq, 0), :holder, :now + make_interval(secs => :seconds)
FROM (SELECT 1) AS one LEFT JOIN LATERAL (
    SELECT xid, seq FROM postino.events
    WHERE NOT :from_start::boolean AND xid < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY xid DESC, seq DESC LIMIT 1
) AS last ON true
ON CONFLICT (listener) DO UPDATE SET holder = excluded.holder, held_until_at = excluded.held_until_at
WHERE cursor.holder IS NULL OR cursor.holder = excluded.holder OR cursor.held_until_at < :now
RETURNING xid::text::bigint AS xid, seq,
    cursor.xid >= pg_snapshot_xmax(pg_current_snapshot())
    OR EXISTS (SELECT FROM postino.events WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())) AS is_ahead

-- name: find_last_foreign_event
-- Transaction ids ahead of this cluster are those of another one. The numbers of events go on after a restore, so all up
-- to the last such event are from there, also those whose transaction ids this cluster has reached or passed.
SELECT greatest(
    (SELECT max(seq) FROM postino.events WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())),
    (SELECT max(seq) FROM postino.cursors WHERE xid >= pg_snapshot_xmax(pg_current_snapshot()))) AS seq

-- name: mark_foreign_cursors
-- The transaction ids of another cluster say nothing here, so from now on seq alone says what the listener received:
-- everything before the first event that was still to come, in the order of the other cluster.
UPDATE postino.cursors AS cursor
SET xid = :mark::bigint::text::xid8, seq = coalesce(
    (SELECT min(event.seq) - 1 FROM postino.events AS event
     WHERE (event.xid, event.seq) > (cursor.xid, cursor.seq) AND event.seq <= :last), :last)
WHERE cursor.xid > '1' AND cursor.xid < :mark::bigint::text::xid8 AND cursor.seq <= :last

-- name: rebase_events
-- Below every transaction of this cluster, so that they come before its own events, in the order of seq.
WITH foreign_event AS (
    SELECT xid, seq FROM postino.events WHERE xid > '1' AND seq <= :last
    ORDER BY xid, seq LIMIT :limit FOR UPDATE SKIP LOCKED
), rebased AS (
    UPDATE postino.events AS event SET xid = '1' FROM foreign_event
    WHERE event.xid = foreign_event.xid AND event.seq = foreign_event.seq
    RETURNING event.seq
)
SELECT count(*) AS rebased FROM rebased

-- name: release_marked_cursors
-- Not before every process has rebased what it has locked: a listener must not read past it.
UPDATE postino.cursors SET xid = '1'
WHERE xid = :mark::bigint::text::xid8
    AND NOT EXISTS (SELECT FROM postino.events WHERE xid > '1' AND seq <= :last)
    AND NOT EXISTS (SELECT FROM postino.events WHERE xid >= pg_snapshot_xmax(pg_current_snapshot()))

-- name: move_cursor
-- Not to an event that was rebased since it was read: its old position is after events that are still to come.
UPDATE postino.cursors
SET xid = :xid::bigint::text::xid8, seq = :seq,
    held_until_at = greatest(held_until_at, :now + make_interval(secs => :seconds))
WHERE listener = :listener AND holder = :holder
    AND NOT EXISTS (SELECT FROM postino.events WHERE xid = '1' AND seq = :seq AND :xid > 1)
RETURNING listener
