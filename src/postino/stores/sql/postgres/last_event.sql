SELECT xid::text::bigint AS xid, seq FROM postino.events
WHERE xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY xid DESC, seq DESC
LIMIT 1
