SELECT 0 AS xid, seq FROM postino_events ORDER BY seq DESC LIMIT 1
