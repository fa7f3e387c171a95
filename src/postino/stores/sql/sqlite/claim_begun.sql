-- What was chosen of the lane, while none of its jobs runs.
UPDATE postino_jobs
SET state = 'running', claimed_by = :worker, claimed_at = :now, token = :token, attempts = attempts + 1, deferred = NULL,
    deadline_at = strftime('%Y-%m-%dT%H:%M:%f', :now, (:grace + coalesce(time_limit,
        (SELECT value FROM json_each(:limits) WHERE key = 'channel ' || postino_jobs.channel),
        (SELECT value FROM json_each(:limits) WHERE key = 'type ' || postino_jobs.type),
        (SELECT value FROM json_each(:limits) WHERE key = ''))) || ' seconds') || '000Z'
WHERE id = :id AND state <> 'running' AND run_at <= :now AND NOT EXISTS (
    SELECT 1 FROM postino_jobs AS busy
    WHERE busy.channel = :channel AND busy.lane = :lane AND busy.state = 'running' AND busy.account IS NOT NULL
) AND EXISTS (SELECT 1 FROM postino_workers WHERE postino_workers.id = :worker)
RETURNING *;
INSERT INTO postino_events (at, type, data)
SELECT :now, 'job.claimed', json_object('worker', :worker, 'jobs', json_group_array(id))
FROM postino_jobs WHERE state = 'running' AND channel = :channel AND token = :token AND lane = :lane
  AND id NOT IN (SELECT value FROM json_each(:taken))
HAVING count(*) > 0
