-- name: poll
-- Everything an idle worker needs, in one round trip. `since_at` is where its last claims from a line ended: index
-- entries before it are dead, and a long-open transaction keeps them in the way of every read.
WITH beat AS (
    UPDATE postino.workers SET heartbeats = heartbeats + 1 WHERE id = :worker AND :beat RETURNING id, heartbeats
), line AS (
    SELECT known.channel, queue.queue, coalesce(mark.since_at, '-infinity') AS since_at
    FROM (SELECT DISTINCT channel FROM postino.channels) AS known
    CROSS JOIN generate_series(0, 2) AS queue (queue)
    LEFT JOIN unnest(:mark_channel::text[], :mark_queue::smallint[], :mark_since_at::timestamptz[])
        AS mark (channel, queue, since_at) ON mark.channel = known.channel AND mark.queue = queue.queue
)
SELECT 'clock' AS kind, NULL AS name, NULL::int AS queue, :now AS due_at, NULL::text AS detail,
       NULL::bigint AS amount
UNION ALL
SELECT 'bulk', line.channel, line.queue, head.run_at, NULL, NULL
FROM line
CROSS JOIN LATERAL (
    SELECT run_at FROM postino.jobs
    WHERE channel = line.channel AND queue = line.queue AND state <> 'running' AND run_at IS NOT NULL
      AND lane IS NULL AND run_at >= line.since_at
    ORDER BY run_at LIMIT 1
) AS head
UNION ALL
SELECT 'lanes', line.channel, line.queue, head.due_at, NULL, NULL
FROM line
CROSS JOIN LATERAL (
    SELECT due_at FROM postino.lane_due
    WHERE channel = line.channel AND queue = line.queue
    ORDER BY due_at LIMIT 1
) AS head
UNION ALL
SELECT 'started', known.channel, 0, head.run_at, NULL, NULL
FROM (SELECT DISTINCT channel FROM postino.channels) AS known
CROSS JOIN LATERAL (
    SELECT run_at FROM postino.jobs
    WHERE channel = known.channel AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL
      AND (may_be_live OR ignore_blackouts)
    ORDER BY run_at LIMIT 1
) AS head
UNION ALL
SELECT 'hint', NULL, NULL, NULL, NULL, NULL WHERE EXISTS (SELECT 1 FROM postino.lane_hints)
UNION ALL
SELECT 'orphan', NULL, NULL, NULL, NULL, NULL
WHERE :beat AND EXISTS (
    SELECT 1 FROM postino.jobs AS job
    WHERE state = 'running' AND (
        deadline_at < :now
        OR NOT EXISTS (SELECT 1 FROM postino.workers AS worker WHERE worker.id = job.claimed_by)
    )
)
UNION ALL
SELECT 'held', id::text, NULL, NULL, token::text, NULL FROM postino.jobs
WHERE :beat AND state = 'running' AND claimed_by = :worker
UNION ALL
SELECT 'gate', name, NULL, until_at, row_to_json(gate)::text, NULL FROM postino.gates AS gate
WHERE scope IN ('all', 'queue', 'channel', 'brand') AND until_at > :now
UNION ALL
SELECT 'blackout', id::text, NULL, NULL, definition, NULL FROM postino.blackouts
UNION ALL
SELECT 'breaker', service, NULL, until_at, row_to_json(circuit)::text, NULL FROM postino.circuits AS circuit
WHERE state <> 'closed' OR failures <> '[]'
UNION ALL
SELECT 'cap', channel, NULL, NULL, NULL, coalesce(cap, default_cap) FROM postino.caps
  WHERE coalesce(cap, default_cap) IS NOT NULL
UNION ALL
SELECT 'worker', id, NULL, NULL, NULL, heartbeats FROM postino.workers
-- Removed while its heartbeat waited: this statement still sees the old row, but the heartbeat did not count.
WHERE id NOT IN (SELECT id FROM beat) AND (:beat AND id = :worker) IS NOT TRUE
UNION ALL
SELECT 'worker', id, NULL, NULL, NULL, heartbeats FROM beat

-- name: count_running_jobs
-- Running jobs, and jobs without a worker of which a call may still be under way.
SELECT channel, coalesce(brand, '') AS brand, count(*) AS running FROM postino.jobs
WHERE state <> 'pending' AND channel = ANY (:channels::text[]) AND (state = 'running' OR lookup_at > :now)
GROUP BY channel, coalesce(brand, '')

-- name: lock_started_jobs
-- Jobs of which something may be live, or that ignore blackouts: the first of each lane. Lanes that another claim holds
-- are skipped.
SELECT lane.channel, lane.lane, input.id
FROM postino.lanes AS lane
JOIN (
    SELECT DISTINCT ON (started.channel, started.lane) started.channel, started.lane, started.id
    FROM unnest(:channel::text[], :share::int[]) AS line (channel, share)
    CROSS JOIN LATERAL (
        SELECT job.channel, job.lane, job.id, job.run_at FROM postino.jobs AS job
        WHERE job.channel = line.channel AND job.state <> 'running' AND job.run_at IS NOT NULL
          AND job.lane IS NOT NULL AND (job.may_be_live OR job.ignore_blackouts)
          AND job.run_at <= :now
          AND NOT EXISTS (
              SELECT 1 FROM postino.gates AS gate
              WHERE gate.scope = 'account' AND gate.name = job.account AND (NOT job.may_be_live
                OR gate.kind = ANY (:kinds::text[]))
                AND gate.until_at > :now
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
          AND (job.may_be_live OR NOT :closed_all AND job.channel <> ALL (:closed_channel::text[])
            AND job.queue <> ALL (:closed_queue::int[])
            AND (job.brand IS NULL OR job.brand <> ALL (:closed_brand::text[])))
        ORDER BY job.run_at
        LIMIT line.share
    ) AS started
    ORDER BY started.channel, started.lane, started.run_at, started.id
) AS input ON input.channel = lane.channel AND input.lane = lane.lane
FOR UPDATE OF lane SKIP LOCKED

-- name: claim_started_jobs
-- The job chosen in each locked lane, unless another of its jobs runs or has a call in doubt.
WITH line AS (
    SELECT * FROM unnest(:channel::text[], :lane::text[], :id::uuid[]) AS l (channel, lane, id)
), chosen AS (
    SELECT job.id
    FROM line
    CROSS JOIN LATERAL (
        SELECT id FROM postino.jobs
        WHERE id = line.id AND state <> 'running' AND run_at <= :now
        FOR UPDATE SKIP LOCKED
    ) AS job
    WHERE NOT EXISTS (
        SELECT 1 FROM postino.jobs AS busy
        WHERE busy.channel = line.channel AND busy.lane = line.lane AND busy.state = 'running'
          AND busy.account IS NOT NULL
    ) AND NOT EXISTS (
        SELECT 1 FROM postino.jobs AS uncertain
        WHERE uncertain.channel = line.channel AND uncertain.lane = line.lane AND uncertain.state = 'uncertain'
          AND uncertain.account IS NOT NULL
          AND uncertain.lookup_at > :now AND uncertain.id <> line.id
    )
), claimed AS (
    UPDATE postino.jobs
    SET state = 'running', claimed_by = :worker, claimed_at = :now, token = :token,
        attempts = attempts + 1, deferral_reason = NULL,
        deadline_at = :now + make_interval(secs => :grace + coalesce(time_limit, (
            SELECT (rule.value ->> 'seconds')::float8
            FROM jsonb_array_elements(:limits::jsonb) WITH ORDINALITY AS rule (value, position)
            WHERE coalesce(rule.value ->> 'channel', channel) = channel AND coalesce(rule.value ->> 'type', type) = type
            ORDER BY rule.position LIMIT 1
        )))
    WHERE id = ANY (ARRAY (SELECT id FROM chosen)) AND EXISTS (SELECT 1 FROM postino.workers WHERE id = :worker)
    RETURNING *
), event AS (
    INSERT INTO postino.events (at, type, data)
    SELECT :now, 'job.claimed', json_build_object('worker', :worker::text, 'jobs', json_agg(id))::text
    FROM claimed HAVING count(*) > 0
)
SELECT * FROM claimed

-- name: claim_bulk_jobs
-- Each line gives its share, oldest first. The ids go through an array: the planner cannot know how few they are, and
-- this keeps it on the primary key. The poll that chose the lines is a moment old: lines closed since give nothing, nor
-- do capped ones unless they were counted under their lock.
WITH line AS (
    SELECT * FROM unnest(:channel::text[], :share::int[], :since_at::timestamptz[]) AS l (channel, share, since_at)
    WHERE NOT EXISTS (
        SELECT 1 FROM postino.gates WHERE scope = 'channel' AND name = l.channel AND until_at > :now
        UNION ALL
        SELECT 1 FROM postino.gates WHERE scope = 'queue' AND name = :queue_name AND until_at > :now
        UNION ALL
        SELECT 1 FROM postino.gates WHERE scope = 'all' AND until_at > :now
    ) AND (l.channel = ANY (:counted::text[]) OR NOT EXISTS (
        SELECT 1 FROM postino.caps WHERE channel = l.channel AND coalesce(cap, default_cap) IS NOT NULL
        UNION ALL
        SELECT 1 FROM postino.circuits WHERE service = l.channel AND state <> 'closed'
    ))
), chosen AS (
    SELECT job.id
    FROM line
    CROSS JOIN LATERAL (
        SELECT id FROM postino.jobs
        WHERE channel = line.channel AND queue = :queue AND state <> 'running' AND run_at IS NOT NULL AND lane IS NULL
          AND run_at >= line.since_at AND run_at <= :now
        ORDER BY run_at
        LIMIT line.share
        FOR UPDATE SKIP LOCKED
    ) AS job
), claimed AS (
    UPDATE postino.jobs
    SET state = 'running', claimed_by = :worker, claimed_at = :now, token = :token,
        attempts = attempts + 1, deferral_reason = NULL,
        deadline_at = :now + make_interval(secs => :grace + coalesce(time_limit, (
            SELECT (rule.value ->> 'seconds')::float8
            FROM jsonb_array_elements(:limits::jsonb) WITH ORDINALITY AS rule (value, position)
            WHERE coalesce(rule.value ->> 'channel', channel) = channel AND coalesce(rule.value ->> 'type', type) = type
            ORDER BY rule.position LIMIT 1
        )))
    WHERE id = ANY (ARRAY (SELECT id FROM chosen)) AND EXISTS (SELECT 1 FROM postino.workers WHERE id = :worker)
    RETURNING *
), event AS (
    INSERT INTO postino.events (at, type, data)
    SELECT :now, 'job.claimed', json_build_object('worker', :worker::text, 'jobs', json_agg(id))::text
    FROM claimed HAVING count(*) > 0
)
SELECT * FROM claimed

-- name: claim_lane_jobs
-- The head of each locked lane; of an account's lane only while none of its jobs runs or has a call in doubt.
WITH line AS (
    SELECT * FROM unnest(:channel::text[], :lane::text[], :width::int[]) AS l (channel, lane, width)
), chosen AS (
    SELECT job.id
    FROM line
    CROSS JOIN LATERAL (
        SELECT id FROM postino.jobs
        WHERE channel = line.channel AND lane = line.lane AND queue = :queue AND state <> 'running'
          AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts
          AND run_at <= :now AND (brand IS NULL OR brand <> ALL (:closed_brand::text[]))
        ORDER BY run_at, id
        LIMIT line.width
        FOR UPDATE SKIP LOCKED
    ) AS job
    WHERE NOT EXISTS (
        SELECT 1 FROM postino.jobs AS busy
        WHERE busy.channel = line.channel AND busy.lane = line.lane AND busy.state = 'running'
          AND busy.account IS NOT NULL
    ) AND NOT EXISTS (
        SELECT 1 FROM postino.jobs AS uncertain
        WHERE uncertain.channel = line.channel AND uncertain.lane = line.lane AND uncertain.state = 'uncertain'
          AND uncertain.account IS NOT NULL
          AND uncertain.lookup_at > :now
    )
), claimed AS (
    UPDATE postino.jobs
    SET state = 'running', claimed_by = :worker, claimed_at = :now, token = :token,
        attempts = attempts + 1, deferral_reason = NULL,
        deadline_at = :now + make_interval(secs => :grace + coalesce(time_limit, (
            SELECT (rule.value ->> 'seconds')::float8
            FROM jsonb_array_elements(:limits::jsonb) WITH ORDINALITY AS rule (value, position)
            WHERE coalesce(rule.value ->> 'channel', channel) = channel AND coalesce(rule.value ->> 'type', type) = type
            ORDER BY rule.position LIMIT 1
        )))
    WHERE id = ANY (ARRAY (SELECT id FROM chosen)) AND EXISTS (SELECT 1 FROM postino.workers WHERE id = :worker)
    RETURNING *
), event AS (
    INSERT INTO postino.events (at, type, data)
    SELECT :now, 'job.claimed', json_build_object('worker', :worker::text, 'jobs', json_agg(id))::text
    FROM claimed HAVING count(*) > 0
)
SELECT * FROM claimed
