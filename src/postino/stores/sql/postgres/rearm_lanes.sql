-- When each of these lanes next has something to do. Under the lanes' locks, and later than them, so that it sees all
-- that came before. A lane with a running job has nothing to do until that job's settle hints at it.
WITH line AS MATERIALIZED (
    SELECT l.channel, l.lane, EXISTS (
        SELECT FROM postino.jobs AS job
        WHERE job.channel = l.channel AND job.lane = l.lane AND job.state = 'running' AND job.account IS NOT NULL
    ) AS busy
    FROM unnest(:channel::text[], :lane::text[]) AS l (channel, lane)
), next AS (
    SELECT line.channel, line.lane, queue.queue, head.run_at, head.brand
    FROM line
    CROSS JOIN generate_series(0, 2) AS queue (queue)
    CROSS JOIN LATERAL (
        SELECT run_at, brand FROM postino.jobs
        WHERE channel = line.channel AND lane = line.lane AND queue = queue.queue AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL
          AND NOT line.busy
        ORDER BY run_at, id LIMIT 1
    ) AS head
), idle AS (
    DELETE FROM postino.lane_due AS due USING line
    WHERE due.channel = line.channel AND due.lane = line.lane
      AND (line.busy OR NOT EXISTS (
          SELECT FROM postino.jobs AS job
          WHERE job.channel = due.channel AND job.lane = due.lane AND job.queue = due.queue AND job.state <> 'running'
            AND job.run_at IS NOT NULL AND job.lane IS NOT NULL
      ))
)
INSERT INTO postino.lane_due (channel, lane, queue, due_at, brand)
SELECT channel, lane, queue, run_at, brand FROM next
ON CONFLICT (channel, lane, queue) DO UPDATE SET due_at = excluded.due_at, brand = excluded.brand
RETURNING channel, lane, queue, due_at
