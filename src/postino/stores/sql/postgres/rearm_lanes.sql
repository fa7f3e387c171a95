-- When each of these lanes next has something to do, and may. Under the lanes' locks, and later than them, so that it
-- sees all that came before. A lane with a running job has nothing to do until that job's settle hints at it; an account
-- of which something may still be under way waits until it cannot be any more.
WITH line AS MATERIALIZED (
    SELECT l.channel, l.lane, EXISTS (
        SELECT FROM postino.jobs AS job
        WHERE job.channel = l.channel AND job.lane = l.lane AND job.state = 'running' AND job.account IS NOT NULL
    ) AS busy, greatest((
        SELECT max(gate.until_at) FROM postino.gates AS gate WHERE gate.scope = 'account' AND gate.name = lane.account
    ), (
        SELECT max(shut.until_at) FROM unnest(:shut_account::text[], :account_until_at::timestamptz[]) AS shut (name, until_at)
        WHERE shut.name = lane.account
    ), (
        SELECT max(job.look_at) FROM postino.jobs AS job
        WHERE job.channel = l.channel AND job.lane = l.lane AND job.state = 'uncertain' AND job.account IS NOT NULL
    )) AS open_at
    FROM unnest(:channel::text[], :lane::text[]) AS l (channel, lane)
    JOIN postino.lanes AS lane ON lane.channel = l.channel AND lane.lane = l.lane
), next AS (
    SELECT line.channel, line.lane, queue.queue, coalesce(head.brand, '') AS brand, greatest(head.run_at, line.open_at, (
        SELECT max(shut.until_at) FROM unnest(:shut_brand::text[], :brand_until_at::timestamptz[]) AS shut (name, until_at)
        WHERE shut.name = head.brand
    )) AS due_at
    FROM line
    CROSS JOIN generate_series(0, 2) AS queue (queue)
    CROSS JOIN LATERAL (
        SELECT run_at, brand FROM postino.jobs
        WHERE channel = line.channel AND lane = line.lane AND queue = queue.queue AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT sent AND NOT regardless
          AND NOT line.busy
        ORDER BY run_at, id LIMIT 1
    ) AS head
), idle AS (
    DELETE FROM postino.lane_due AS due USING line
    WHERE due.channel = line.channel AND due.lane = line.lane
      AND (line.busy OR NOT EXISTS (
          SELECT FROM postino.jobs AS job
          WHERE job.channel = due.channel AND job.lane = due.lane AND job.queue = due.queue AND job.state <> 'running'
            AND job.run_at IS NOT NULL AND job.lane IS NOT NULL AND NOT job.sent AND NOT job.regardless
      ))
)
INSERT INTO postino.lane_due (channel, lane, queue, due_at, brand)
SELECT channel, lane, queue, due_at, brand FROM next
ON CONFLICT (channel, lane, queue) DO UPDATE SET due_at = excluded.due_at, brand = excluded.brand
RETURNING channel, lane, queue, due_at
