-- The look that chose the lines is a moment old: those closed since give nothing, nor do capped ones, unless counted.
UPDATE postino_jobs
SET state = 'running', claimed_by = :worker, claimed_at = :now, token = :token, attempts = attempts + 1, deferred = NULL,
    deadline_at = strftime('%Y-%m-%dT%H:%M:%f', :now, (:grace + coalesce(time_limit,
        (SELECT value FROM json_each(:limits) WHERE key = 'channel ' || postino_jobs.channel),
        (SELECT value FROM json_each(:limits) WHERE key = 'type ' || postino_jobs.type),
        (SELECT value FROM json_each(:limits) WHERE key = ''))) || ' seconds') || '000Z'
WHERE id IN (
    SELECT id FROM postino_jobs
    WHERE channel = :channel AND queue = :queue AND state <> 'running' AND run_at IS NOT NULL AND lane IS NULL AND run_at >= :since_at AND run_at <= :now
    ORDER BY run_at
    LIMIT :share
) AND EXISTS (SELECT 1 FROM postino_workers WHERE postino_workers.id = :worker) AND NOT EXISTS (
    SELECT 1 FROM postino_gates
    WHERE until_at > :now
      AND (scope = 'channel' AND name = :channel OR scope = 'queue' AND name = :queue_name OR scope = 'all')
) AND (:channel IN (SELECT value FROM json_each(:counted)) OR NOT EXISTS (
    SELECT 1 FROM postino_caps AS cap WHERE cap.channel = :channel AND coalesce(cap.most, cap.usual) IS NOT NULL
    UNION ALL
    SELECT 1 FROM postino_circuits WHERE service = :channel AND state <> 'closed'
))
RETURNING *;
INSERT INTO postino_events (at, type, data)
SELECT :now, 'job.claimed', json_object('worker', :worker, 'jobs', json_group_array(id))
FROM postino_jobs WHERE state = 'running' AND channel = :channel AND token = :token AND lane IS NULL
  AND id NOT IN (SELECT value FROM json_each(:taken))
HAVING count(*) > 0
