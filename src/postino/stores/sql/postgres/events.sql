-- Below the oldest running transaction everything is decided: nothing can appear there any more.
SELECT xid::text::bigint AS xid, seq, at, type, job_id, data FROM postino.events
WHERE (xid, seq) > (:xid::bigint::text::xid8, :seq::bigint) AND xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY xid, seq
LIMIT :limit
