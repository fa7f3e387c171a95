-- name: poll
UPDATE postino.workers SET heartbeats = heartbeats + 1 WHERE :beat AND id = :worker;
WITH line AS (
    SELECT known.channel, queue.value AS queue, coalesce(mark.since_at, '') AS since_at
    FROM postino.channels AS known
    CROSS JOIN json_each('[0, 1, 2]') AS queue
    LEFT JOIN (
        SELECT channel.value AS channel, marked.value AS queue, since.value AS since_at
        FROM json_each(:mark_channel) AS channel
        JOIN json_each(:mark_queue) AS marked ON marked.key = channel.key
        JOIN json_each(:mark_since_at) AS since ON since.key = channel.key
    ) AS mark ON mark.channel = known.channel AND mark.queue = queue.value
), head AS (
    SELECT 'bulk' AS kind, line.channel AS name, line.queue, (
        SELECT run_at FROM postino.jobs AS job
        WHERE job.channel = line.channel AND job.queue = line.queue AND job.state <> 'running'
          AND job.run_at IS NOT NULL AND job.lane IS NULL
          AND job.run_at >= line.since_at
        ORDER BY run_at LIMIT 1
    ) AS due_at
    FROM line
    UNION ALL
    SELECT 'lanes', line.channel, line.queue, (
        SELECT due_at FROM postino.lane_due AS due
        WHERE due.channel = line.channel AND due.queue = line.queue
        ORDER BY due_at LIMIT 1
    )
    FROM line
    UNION ALL
    SELECT 'started', known.channel, 0, (
        SELECT run_at FROM postino.jobs AS job
        WHERE job.channel = known.channel AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NOT NULL
          AND (job.may_be_live OR job.ignore_blackouts)
        ORDER BY run_at LIMIT 1
    )
    FROM postino.channels AS known
)
SELECT 'clock' AS kind, NULL AS name, NULL AS queue, :now AS due_at, NULL AS detail, NULL AS amount
UNION ALL
SELECT kind, name, queue, due_at, NULL, NULL FROM head WHERE due_at IS NOT NULL
UNION ALL
SELECT 'hint', NULL, NULL, NULL, NULL, NULL WHERE EXISTS (SELECT 1 FROM postino.lane_hints)
UNION ALL
SELECT 'orphan', NULL, NULL, NULL, NULL, NULL
WHERE :beat AND EXISTS (
    SELECT 1 FROM postino.jobs AS job
    WHERE state = 'running' AND (
        deadline_at < :now OR NOT EXISTS (SELECT 1 FROM postino.workers AS worker WHERE worker.id = job.claimed_by)
    )
)
UNION ALL
SELECT 'held', id, NULL, NULL, token, NULL FROM postino.jobs
WHERE :beat AND state = 'running' AND claimed_by = :worker
UNION ALL
SELECT 'gate', name, NULL, until_at,
       json_object('scope', scope, 'name', name, 'kind', kind, 'since_at', since_at, 'until_at', until_at, 'reason',
         reason), NULL
FROM postino.gates WHERE scope IN ('all', 'queue', 'channel', 'brand') AND until_at > :now
UNION ALL
SELECT 'blackout', id, NULL, NULL, definition, NULL FROM postino.blackouts
UNION ALL
SELECT 'breaker', service, NULL, until_at,
       json_object('service', service, 'state', state, 'since_at', since_at, 'until_at', until_at, 'failures', failures,
                   'trips', trips, 'probes', probes, 'reason', reason, 'by_hand', by_hand), NULL
FROM postino.circuits WHERE state <> 'closed' OR failures <> '[]'
UNION ALL
SELECT 'cap', channel, NULL, NULL, NULL, coalesce(cap, default_cap) FROM postino.caps
  WHERE coalesce(cap, default_cap) IS NOT NULL
UNION ALL
SELECT 'worker', id, NULL, NULL, NULL, heartbeats FROM postino.workers

-- name: count_running_jobs
-- Running jobs, and jobs without a worker of which a call may still be under way.
SELECT channel, coalesce(brand, '') AS brand, count(*) AS running FROM (
    SELECT channel, brand FROM postino.jobs
    WHERE state = 'running' AND channel = ANY (:channels)
    UNION ALL
    SELECT channel, brand FROM postino.jobs
    WHERE state = 'uncertain' AND channel = ANY (:channels) AND lookup_at > :now
)
GROUP BY channel, coalesce(brand, '')

-- name: lock_started_jobs
-- Jobs of which something may be live, or that ignore blackouts: the first of each lane.
SELECT channel, lane, id, min(run_at) AS run_at FROM (
    SELECT job.channel, job.lane, job.id, job.run_at FROM postino.jobs AS job
    WHERE job.channel = :channel AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NOT NULL
      AND (job.may_be_live OR job.ignore_blackouts)
      AND job.run_at <= :now
      AND NOT EXISTS (
          SELECT 1 FROM postino.gates AS gate
          WHERE gate.scope = 'account' AND gate.name = job.account AND gate.until_at > :now
            AND (NOT job.may_be_live OR gate.kind = ANY (:kinds))
      ) AND NOT EXISTS (
          SELECT 1 FROM postino.jobs AS busy
          WHERE busy.channel = job.channel AND busy.lane = job.lane AND busy.state = 'running'
            AND busy.account IS NOT NULL
      )
      AND NOT EXISTS (
          SELECT 1 FROM postino.jobs AS uncertain
          WHERE uncertain.channel = job.channel AND uncertain.lane = job.lane AND uncertain.state = 'uncertain'
            AND uncertain.account IS NOT NULL
            AND uncertain.lookup_at > :now AND uncertain.id <> job.id
      )
      AND (job.may_be_live OR NOT :closed_all AND job.channel <> ALL (:closed_channel)
        AND job.queue <> ALL (:closed_queue)
        AND (job.brand IS NULL OR job.brand <> ALL (:closed_brand)))
    ORDER BY job.run_at
    LIMIT :share
)
GROUP BY channel, lane

-- name: claim_started_jobs
-- The job chosen in the lane, unless another of its jobs runs.
UPDATE postino.jobs
SET state = 'running', claimed_by = :worker, claimed_at = :now, token = :token, attempts = attempts + 1,
  deferral_reason = NULL,
    deadline_at = strftime('%Y-%m-%dT%H:%M:%f', :now, (:grace + coalesce(time_limit, (
        SELECT json_extract(rule.value, '$.seconds') FROM json_each(:limits) AS rule
        WHERE coalesce(json_extract(rule.value, '$.channel'), postino.jobs.channel) = postino.jobs.channel
          AND coalesce(json_extract(rule.value, '$.type'), postino.jobs.type) = postino.jobs.type
        ORDER BY rule.key LIMIT 1
    ))) || ' seconds') || '000Z'
WHERE id = :id AND state <> 'running' AND run_at <= :now AND NOT EXISTS (
    SELECT 1 FROM postino.jobs AS busy
    WHERE busy.channel = :channel AND busy.lane = :lane AND busy.state = 'running' AND busy.account IS NOT NULL
) AND EXISTS (SELECT 1 FROM postino.workers WHERE postino.workers.id = :worker)
RETURNING *;
INSERT INTO postino.events (at, type, data)
SELECT :now, 'job.claimed', json_object('worker', :worker, 'jobs', json_group_array(id))
FROM postino.jobs WHERE state = 'running' AND channel = :channel AND token = :token AND lane = :lane
  AND id <> ALL (:taken)
HAVING count(*) > 0

-- name: claim_bulk_jobs
-- The poll that chose the lines is a moment old: lines closed since give nothing, nor do capped ones unless they were
-- counted.
UPDATE postino.jobs
SET state = 'running', claimed_by = :worker, claimed_at = :now, token = :token, attempts = attempts + 1,
  deferral_reason = NULL,
    deadline_at = strftime('%Y-%m-%dT%H:%M:%f', :now, (:grace + coalesce(time_limit, (
        SELECT json_extract(rule.value, '$.seconds') FROM json_each(:limits) AS rule
        WHERE coalesce(json_extract(rule.value, '$.channel'), postino.jobs.channel) = postino.jobs.channel
          AND coalesce(json_extract(rule.value, '$.type'), postino.jobs.type) = postino.jobs.type
        ORDER BY rule.key LIMIT 1
    ))) || ' seconds') || '000Z'
WHERE id IN (
    SELECT id FROM postino.jobs
    WHERE channel = :channel AND queue = :queue AND state <> 'running' AND run_at IS NOT NULL AND lane IS NULL
      AND run_at >= :since_at AND run_at <= :now
    ORDER BY run_at
    LIMIT :share
) AND EXISTS (SELECT 1 FROM postino.workers WHERE postino.workers.id = :worker) AND NOT EXISTS (
    SELECT 1 FROM postino.gates
    WHERE until_at > :now
      AND (scope = 'channel' AND name = :channel OR scope = 'queue' AND name = :queue_name OR scope = 'all')
) AND (:channel = ANY (:counted) OR NOT EXISTS (
    SELECT 1 FROM postino.caps AS cap WHERE cap.channel = :channel AND coalesce(cap.cap, cap.default_cap) IS NOT NULL
    UNION ALL
    SELECT 1 FROM postino.circuits WHERE service = :channel AND state <> 'closed'
))
RETURNING *;
INSERT INTO postino.events (at, type, data)
SELECT :now, 'job.claimed', json_object('worker', :worker, 'jobs', json_group_array(id))
FROM postino.jobs WHERE state = 'running' AND channel = :channel AND token = :token AND lane IS NULL
  AND id <> ALL (:taken)
HAVING count(*) > 0

-- name: claim_lane_jobs
-- The head of the lane; of an account's lane only while none of its jobs runs or has a call in doubt.
UPDATE postino.jobs
SET state = 'running', claimed_by = :worker, claimed_at = :now, token = :token, attempts = attempts + 1,
  deferral_reason = NULL,
    deadline_at = strftime('%Y-%m-%dT%H:%M:%f', :now, (:grace + coalesce(time_limit, (
        SELECT json_extract(rule.value, '$.seconds') FROM json_each(:limits) AS rule
        WHERE coalesce(json_extract(rule.value, '$.channel'), postino.jobs.channel) = postino.jobs.channel
          AND coalesce(json_extract(rule.value, '$.type'), postino.jobs.type) = postino.jobs.type
        ORDER BY rule.key LIMIT 1
    ))) || ' seconds') || '000Z'
WHERE id IN (
    SELECT id FROM postino.jobs
    WHERE channel = :channel AND lane = :lane AND queue = :queue AND state <> 'running' AND run_at IS NOT NULL
      AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts AND run_at <= :now
      AND (brand IS NULL OR brand <> ALL (:closed_brand))
    ORDER BY run_at, id
    LIMIT :width
) AND NOT EXISTS (
    SELECT 1 FROM postino.jobs AS busy
    WHERE busy.channel = :channel AND busy.lane = :lane AND busy.state = 'running' AND busy.account IS NOT NULL
) AND NOT EXISTS (
    SELECT 1 FROM postino.jobs AS uncertain
    WHERE uncertain.channel = :channel AND uncertain.lane = :lane AND uncertain.state = 'uncertain'
      AND uncertain.account IS NOT NULL
      AND uncertain.lookup_at > :now
) AND EXISTS (SELECT 1 FROM postino.workers WHERE postino.workers.id = :worker)
RETURNING *;
INSERT INTO postino.events (at, type, data)
SELECT :now, 'job.claimed', json_object('worker', :worker, 'jobs', json_group_array(id))
FROM postino.jobs WHERE state = 'running' AND channel = :channel AND token = :token AND lane = :lane
  AND id <> ALL (:taken)
HAVING count(*) > 0
