-- When this lane next has something to do. With a running job it has nothing to do until that job's settle hints at it.
DELETE FROM postino_lane_due WHERE channel = :channel AND lane = :lane;
INSERT INTO postino_lane_due (channel, lane, queue, due_at, brand)
SELECT head.channel, head.lane, head.queue, head.run_at, head.brand
FROM json_each('[0, 1, 2]') AS queue
JOIN postino_jobs AS head ON head.rowid = (
    SELECT job.rowid FROM postino_jobs AS job
    WHERE job.channel = :channel AND job.lane = :lane AND job.queue = queue.value AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NOT NULL
    ORDER BY job.run_at, job.id
    LIMIT 1
)
WHERE NOT EXISTS (
    SELECT 1 FROM postino_jobs AS busy
    WHERE busy.channel = :channel AND busy.lane = :lane AND busy.state = 'running' AND busy.account IS NOT NULL
)
RETURNING channel, lane, queue, due_at
