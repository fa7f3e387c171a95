-- When each of these lanes next has something to do. Under the lanes' locks, and later than them, so that it sees all
-- that came before. A lane with a running job has nothing to do until that job's settle hints at it.
WITH next AS (
    SELECT line.channel, line.lane, queue.queue, head.run_at, head.brand
    FROM unnest(:channel::text[], :lane::text[]) AS line (channel, lane)
    CROSS JOIN generate_series(0, 2) AS queue (queue)
    LEFT JOIN LATERAL (
        SELECT run_at, brand FROM postino.jobs
        WHERE channel = line.channel AND lane = line.lane AND queue = queue.queue AND state = 'pending' AND lane IS NOT NULL
          AND NOT EXISTS (
              SELECT FROM postino.jobs AS busy
              WHERE busy.channel = line.channel AND busy.lane = line.lane AND busy.state = 'running'
                AND busy.account IS NOT NULL
          )
        ORDER BY run_at, id LIMIT 1
    ) AS head ON true
), idle AS (
    DELETE FROM postino.lane_due AS due USING next
    WHERE due.channel = next.channel AND due.lane = next.lane AND due.queue = next.queue AND next.run_at IS NULL
)
INSERT INTO postino.lane_due (channel, lane, queue, due_at, brand)
SELECT channel, lane, queue, run_at, brand FROM next WHERE run_at IS NOT NULL
ON CONFLICT (channel, lane, queue) DO UPDATE SET due_at = excluded.due_at, brand = excluded.brand
RETURNING channel, lane, queue, due_at
