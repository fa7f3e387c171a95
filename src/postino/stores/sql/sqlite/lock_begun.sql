-- What has begun to go out and may go on, or may not wait for the end of a blackout: the first of each lane.
SELECT channel, lane, id, min(run_at) AS run_at FROM (
    SELECT job.channel, job.lane, job.id, job.run_at FROM postino_jobs AS job
    WHERE job.channel = :channel AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NOT NULL AND (job.sent OR job.regardless)
      AND job.run_at <= :now
      AND NOT EXISTS (
          SELECT 1 FROM postino_gates AS gate
          WHERE gate.scope = 'account' AND gate.name = job.account AND gate.until_at > :now
            AND (NOT job.sent OR gate.kind IN (SELECT value FROM json_each(:kinds)))
      ) AND NOT EXISTS (
          SELECT 1 FROM postino_jobs AS busy
          WHERE busy.channel = job.channel AND busy.lane = job.lane AND busy.state = 'running' AND busy.account IS NOT NULL
      )
      AND NOT EXISTS (
          SELECT 1 FROM postino_jobs AS doubt
          WHERE doubt.channel = job.channel AND doubt.lane = job.lane AND doubt.state = 'uncertain' AND doubt.account IS NOT NULL
            AND doubt.look_at > :now AND doubt.id <> job.id
      )
      AND (job.sent OR NOT :shut_all AND job.channel NOT IN (SELECT value FROM json_each(:shut_channel))
        AND job.queue NOT IN (SELECT value FROM json_each(:shut_queue))
        AND (job.brand IS NULL OR job.brand NOT IN (SELECT value FROM json_each(:shut_brand))))
    ORDER BY job.run_at
    LIMIT :share
)
GROUP BY channel, lane
