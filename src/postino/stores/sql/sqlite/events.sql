SELECT 0 AS xid, seq, at, type, job_id, data FROM postino_events
WHERE :xid = 0 AND seq > :seq
ORDER BY seq
LIMIT :limit
