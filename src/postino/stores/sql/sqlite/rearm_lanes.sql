-- When this lane next has something to do. With a running job it has nothing to do until that job's settle hints at it.
DELETE FROM postino_lane_due WHERE channel = :channel AND lane = :lane;
INSERT INTO postino_lane_due (channel, lane, queue, due_at)
SELECT channel, lane, queue, min(run_at) FROM postino_jobs
WHERE channel = :channel AND lane = :lane AND state = 'pending' AND lane IS NOT NULL
  AND NOT EXISTS (
      SELECT 1 FROM postino_jobs AS busy
      WHERE busy.channel = :channel AND busy.lane = :lane AND busy.state = 'running' AND busy.account IS NOT NULL
  )
GROUP BY channel, lane, queue
RETURNING channel, lane, queue, due_at
