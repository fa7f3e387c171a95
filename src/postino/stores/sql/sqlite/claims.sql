-- name: poll
UPDATE postino.workers SET heartbeats = heartbeats + 1 WHERE :beat AND id = :worker;
WITH known AS MATERIALIZED (
    -- One index range for each type of the worker: jobs of other types, and their channels, cost nothing.
    SELECT known.channel, known.type FROM json_each(:types) AS handled
    CROSS JOIN postino.channels AS known ON known.type = handled.value
), source AS (
    SELECT known.channel, known.type, queue.value AS queue, coalesce(mark.since_at, '') AS since_at
    FROM known
    CROSS JOIN json_each('[0, 1, 2]') AS queue
    LEFT JOIN (
        SELECT channel.value AS channel, type.value AS type, marked.value AS queue, since.value AS since_at
        FROM json_each(:mark_channel) AS channel
        JOIN json_each(:mark_type) AS type ON type.key = channel.key
        JOIN json_each(:mark_queue) AS marked ON marked.key = channel.key
        JOIN json_each(:mark_since_at) AS since ON since.key = channel.key
    ) AS mark ON mark.channel = known.channel AND mark.type = known.type AND mark.queue = queue.value
), head AS (
    SELECT 'bulk' AS kind, source.channel AS name, source.type, source.queue, (
        SELECT run_at FROM postino.jobs AS job
        WHERE job.channel = source.channel AND job.queue = source.queue AND job.type = source.type AND job.state <> 'running'
          AND job.run_at IS NOT NULL AND job.lane IS NULL
          AND job.run_at >= source.since_at
        ORDER BY run_at LIMIT 1
    ) AS due_at
    FROM source
    UNION ALL
    SELECT 'lanes', source.channel, source.type, source.queue, (
        SELECT due_at FROM postino.lane_due AS due
        WHERE due.channel = source.channel AND due.queue = source.queue AND due.type = source.type
        ORDER BY due_at LIMIT 1
    )
    FROM source
    UNION ALL
    SELECT 'started', known.channel, known.type, 0, (
        SELECT run_at FROM postino.jobs AS job
        WHERE job.channel = known.channel AND job.type = known.type AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NOT NULL
          AND (job.may_be_live OR job.ignore_blackouts)
        ORDER BY run_at LIMIT 1
    )
    FROM known
)
SELECT 'clock' AS kind, NULL AS name, NULL AS queue, :now AS due_at, NULL AS detail, NULL AS amount
UNION ALL
SELECT kind, name, queue, due_at, type, NULL FROM head WHERE due_at IS NOT NULL
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
                   'trips', trips, 'probes', probes, 'reason', reason, 'manual', manual), NULL
FROM postino.circuits WHERE instr(service, '@') = 0 AND (state <> 'closed' OR failures <> '[]')
UNION ALL
SELECT 'service', service, NULL, until_at,
       json_object('service', service, 'state', state, 'since_at', since_at, 'until_at', until_at, 'failures', failures,
                   'trips', trips, 'probes', probes, 'reason', reason, 'manual', manual), NULL
FROM postino.circuits WHERE service = ANY (:services) AND (state <> 'closed' OR failures <> '[]')
UNION ALL
SELECT 'cap', channel, NULL, NULL, NULL, coalesce(cap, default_cap) FROM postino.caps
  WHERE coalesce(cap, default_cap) IS NOT NULL
UNION ALL
SELECT 'database', NULL, NULL, NULL, json_object('installation', installation, 'era', era, 'place', place, 'pulse', pulse, 'alive_at', alive_at,
         'answered_pulse', answered_pulse, 'standing', standing, 'cause', cause, 'reason', reason,
         'since_at', since_at, 'here', postino.locate()), NULL
FROM postino.database_state AS known
UNION ALL
SELECT 'witness', id, NULL, seen_at, mark, n FROM postino.witnesses
WHERE id = ANY (:witnesses::text[])
   OR seen_at >= (SELECT strftime('%Y-%m-%dT%H:%M:%f', alive_at, '-' || :silent_seconds || ' seconds') || '000Z'
                  FROM postino.database_state)
UNION ALL
SELECT 'lost', id, NULL, NULL, NULL, lost_from FROM postino.witnesses WHERE lost_from IS NOT NULL
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
-- Jobs of which something may be live, or that ignore blackouts: the first of each lane. Brands that have their share of
-- the channel are skipped.
SELECT channel, lane, id, brand, min(run_at) AS run_at, service FROM (
    SELECT job.channel, job.lane, job.id, job.brand, job.run_at, (
        SELECT circuit.service FROM postino.account_circuits AS circuit
        WHERE circuit.account = job.account AND circuit.network = job.channel
    ) AS service FROM postino.jobs AS job
    WHERE job.channel = :channel AND job.type = :type AND job.state <> 'running' AND job.run_at IS NOT NULL
      AND job.lane IS NOT NULL AND (job.may_be_live OR job.ignore_blackouts)
      AND job.run_at <= :now
      AND (job.brand IS NULL OR job.brand NOT IN (SELECT value FROM json_each(:full_brands)))
      AND NOT EXISTS (
          SELECT 1 FROM postino.gates AS gate
          WHERE gate.scope = 'account' AND gate.name = job.account AND gate.until_at > :now
            AND (NOT job.may_be_live OR gate.kind = ANY (:kinds))
      ) AND NOT EXISTS (
          SELECT 1 FROM postino.account_circuits AS circuit
          WHERE circuit.account = job.account AND circuit.network = job.channel AND circuit.until_at > :now
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
-- A source that closed since the poll gives no jobs, and neither does a capped one that was not counted.
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
    WHERE channel = :channel AND queue = :queue AND type = :type AND state <> 'running' AND run_at IS NOT NULL
      AND lane IS NULL AND run_at >= :since_at AND run_at <= :now
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
-- The first jobs of a brand in the lane; of an account's lane only while none of its jobs runs or has a call in doubt.
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
    WHERE channel = :channel AND lane = :lane AND queue = :queue AND coalesce(brand, '') = :brand
      AND type = :type AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts
      AND run_at <= :now
    ORDER BY run_at, id
    LIMIT :lane_limit
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

-- name: list_misdated_jobs
-- Jobs whose time or queue no program can read. Reads all jobs: only for claims that fail.
SELECT id FROM postino.jobs WHERE typeof(queue) <> 'integer' OR run_at NOT GLOB
  '[1-8][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9].[0-9][0-9][0-9][0-9][0-9][0-9]Z'
LIMIT 500

-- name: list_bulk_candidates
SELECT id FROM postino.jobs
WHERE channel = :channel AND queue = :queue AND type = :type AND state <> 'running' AND run_at IS NOT NULL
  AND lane IS NULL AND run_at <= :now
ORDER BY run_at LIMIT :most

-- name: list_lane_candidates
SELECT job.id
FROM (
    SELECT channel, lane, queue, brand FROM postino.lane_due
    WHERE channel = :channel AND queue = :queue AND type = :type AND due_at <= :now
    ORDER BY due_at LIMIT :most
) AS due
CROSS JOIN postino.jobs AS job ON job.rowid IN (
    SELECT first.rowid FROM postino.jobs AS first
    WHERE first.channel = due.channel AND first.lane = due.lane AND first.queue = due.queue
      AND coalesce(first.brand, '') = due.brand AND first.type = :type AND first.state <> 'running' AND first.run_at IS NOT NULL
      AND first.lane IS NOT NULL AND NOT first.may_be_live AND NOT first.ignore_blackouts AND first.run_at <= :now
    ORDER BY first.run_at, first.id LIMIT :most
)

-- name: list_started_candidates
SELECT id FROM postino.jobs
WHERE channel = :channel AND type = :type AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL
  AND (may_be_live OR ignore_blackouts) AND run_at <= :now
ORDER BY run_at LIMIT :most

-- name: take_unclaimable_job
-- Values that cannot be read or counted on become bounded ones or NULL, so that the job can be listed and replayed.
UPDATE postino.jobs
SET state = 'uncertain', run_at = NULL, claimed_by = NULL, claimed_at = NULL, token = NULL, deadline_at = NULL,
    dispatched_at = NULL, deferral_reason = NULL, last_error = :error,
    queue = CASE WHEN typeof(queue) = 'integer' THEN queue ELSE 1 END,
    time_limit = CASE WHEN typeof(time_limit) IN ('integer', 'real') AND time_limit <= 31622400 THEN time_limit END,
    attempts = CASE WHEN typeof(attempts) = 'integer' THEN min(attempts, 1000) ELSE 0 END,
    max_attempts = CASE WHEN typeof(max_attempts) = 'integer' THEN min(max_attempts, 1000) END,
    rescues = CASE WHEN typeof(rescues) = 'integer' THEN min(rescues, 1000) ELSE 0 END,
    deferrals = CASE WHEN typeof(deferrals) = 'integer' THEN min(deferrals, 1000) ELSE 0 END,
    rate_limit_count = CASE WHEN typeof(rate_limit_count) = 'integer' THEN min(rate_limit_count, 1000) ELSE 0 END,
    scheduled_at = CASE WHEN scheduled_at GLOB 
      '[1-8][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9].[0-9][0-9][0-9][0-9][0-9][0-9]Z'
      THEN scheduled_at ELSE :now END,
    created_at = CASE WHEN created_at GLOB 
      '[1-8][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9].[0-9][0-9][0-9][0-9][0-9][0-9]Z'
      THEN created_at ELSE :now END,
    lookup_at = CASE WHEN lookup_at GLOB 
      '[1-8][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9].[0-9][0-9][0-9][0-9][0-9][0-9]Z'
      THEN lookup_at END
WHERE id = :id AND (state <> 'running' OR token = :token)
RETURNING id

-- name: find_due_times
-- When the first jobs of each type are due, where a channel has jobs of several types: the claim takes the earliest.
SELECT channel, type, run_at FROM postino.jobs
WHERE channel = :channel AND queue = :queue AND type = :type AND state <> 'running' AND run_at IS NOT NULL
  AND lane IS NULL AND run_at >= :since_at AND run_at <= :now
ORDER BY run_at LIMIT :share
