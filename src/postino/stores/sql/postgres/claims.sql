-- name: poll
-- Everything an idle worker needs, in one round trip. `since_at` is where its last claims from a source ended: index
-- entries before it are dead, and a long-open transaction keeps them in the way of every read.
WITH beat AS (
    UPDATE postino.workers SET heartbeats = heartbeats + 1 WHERE id = :worker AND :beat RETURNING id, heartbeats
), known AS MATERIALIZED (
    -- One index range for each type of the worker: jobs of other types, and their channels, cost nothing.
    SELECT DISTINCT known.channel, known.type
    FROM unnest(:types::text[]) AS handled (type)
    JOIN postino.channels AS known ON known.type = handled.type
), source AS (
    SELECT known.channel, known.type, queue.queue, coalesce(mark.since_at, '-infinity') AS since_at
    FROM known
    CROSS JOIN generate_series(0, 2) AS queue (queue)
    LEFT JOIN unnest(:mark_channel::text[], :mark_type::text[], :mark_queue::smallint[], :mark_since_at::timestamptz[])
        AS mark (channel, type, queue, since_at)
        ON mark.channel = known.channel AND mark.type = known.type AND mark.queue = queue.queue
)
SELECT 'clock' AS kind, NULL AS name, NULL::int AS queue, :now AS due_at, NULL::text AS detail,
       NULL::bigint AS amount
UNION ALL
SELECT 'bulk', source.channel, source.queue, head.run_at, source.type, NULL
FROM source
CROSS JOIN LATERAL (
    SELECT run_at FROM postino.jobs
    WHERE channel = source.channel AND queue = source.queue AND type = source.type AND state <> 'running'
      AND run_at IS NOT NULL AND lane IS NULL AND run_at >= source.since_at
    ORDER BY run_at LIMIT 1
) AS head
UNION ALL
SELECT 'lanes', source.channel, source.queue, head.due_at, source.type, NULL
FROM source
CROSS JOIN LATERAL (
    SELECT due_at FROM postino.lane_due
    WHERE channel = source.channel AND queue = source.queue AND type = source.type
    ORDER BY due_at LIMIT 1
) AS head
UNION ALL
SELECT 'started', known.channel, 0, head.run_at, known.type, NULL
FROM known
CROSS JOIN LATERAL (
    SELECT run_at FROM postino.jobs
    WHERE channel = known.channel AND type = known.type AND state <> 'running' AND run_at IS NOT NULL
      AND lane IS NOT NULL
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
WHERE strpos(service, '@') = 0 AND (state <> 'closed' OR failures <> '[]')
UNION ALL
SELECT 'service', service, NULL, until_at, row_to_json(circuit)::text, NULL FROM postino.circuits AS circuit
WHERE service = ANY (:services::text[]) AND (state <> 'closed' OR failures <> '[]')
UNION ALL
SELECT 'cap', channel, NULL, NULL, NULL, coalesce(cap, default_cap) FROM postino.caps
  WHERE coalesce(cap, default_cap) IS NOT NULL
UNION ALL
SELECT 'database', NULL, NULL, NULL, (to_jsonb(known) || jsonb_build_object('here', postino.locate()))::text, NULL
FROM postino.database_state AS known
UNION ALL
SELECT 'witness', id, NULL, seen_at, mark, n FROM postino.witnesses
WHERE id = ANY (:witnesses::text[])
   OR seen_at >= (SELECT alive_at FROM postino.database_state) - make_interval(secs => :silent_seconds::float8)
UNION ALL
SELECT 'lost', id, NULL, NULL, NULL, lost_from FROM postino.witnesses WHERE lost_from IS NOT NULL
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
-- are skipped, and brands that have their share of the channel.
SELECT lane.channel, lane.lane, input.id, input.brand, input.run_at, (
    SELECT circuit.service FROM postino.account_circuits AS circuit
    WHERE circuit.account = lane.account AND circuit.network = lane.channel
) AS service
FROM postino.lanes AS lane
JOIN (
    SELECT DISTINCT ON (started.channel, started.lane) started.channel, started.lane, started.id, started.brand,
        started.run_at
    FROM unnest(:channel::text[], :type::text[], :share::int[], :full_brands::text[])
        AS source (channel, type, share, full_brands)
    CROSS JOIN LATERAL (
        SELECT job.channel, job.lane, job.id, job.brand, job.run_at FROM postino.jobs AS job
        WHERE job.channel = source.channel AND job.type = source.type AND job.state <> 'running' AND job.run_at IS NOT NULL
          AND job.lane IS NOT NULL AND (job.may_be_live OR job.ignore_blackouts)
          AND job.run_at <= :now
          AND (job.brand IS NULL OR NOT jsonb_exists(source.full_brands::jsonb, job.brand))
          AND NOT EXISTS (
              SELECT 1 FROM postino.gates AS gate
              WHERE gate.scope = 'account' AND gate.name = job.account AND (NOT job.may_be_live
                OR gate.kind = ANY (:kinds::text[]))
                AND gate.until_at > :now
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
          AND (job.may_be_live OR NOT :closed_all AND job.channel <> ALL (:closed_channel::text[])
            AND job.queue <> ALL (:closed_queue::int[])
            AND (job.brand IS NULL OR job.brand <> ALL (:closed_brand::text[])))
        ORDER BY job.run_at
        LIMIT source.share
    ) AS started
    ORDER BY started.channel, started.lane, started.run_at, started.id
) AS input ON input.channel = lane.channel AND input.lane = lane.lane
FOR UPDATE OF lane SKIP LOCKED

-- name: claim_started_jobs
-- The job chosen in each locked lane, unless another of its jobs runs or has a call in doubt.
WITH input AS (
    SELECT * FROM unnest(:channel::text[], :lane::text[], :id::uuid[]) AS l (channel, lane, id)
), chosen AS (
    SELECT job.id
    FROM input
    CROSS JOIN LATERAL (
        SELECT id FROM postino.jobs
        WHERE id = input.id AND state <> 'running' AND run_at <= :now
        FOR UPDATE SKIP LOCKED
    ) AS job
    WHERE NOT EXISTS (
        SELECT 1 FROM postino.jobs AS busy
        WHERE busy.channel = input.channel AND busy.lane = input.lane AND busy.state = 'running'
          AND busy.account IS NOT NULL
    ) AND NOT EXISTS (
        SELECT 1 FROM postino.jobs AS uncertain
        WHERE uncertain.channel = input.channel AND uncertain.lane = input.lane AND uncertain.state = 'uncertain'
          AND uncertain.account IS NOT NULL
          AND uncertain.lookup_at > :now AND uncertain.id <> input.id
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
-- Each source gives its share, oldest first. The ids go through an array: the planner cannot know how few they are, and
-- this keeps it on the primary key. A source that closed since the poll gives no jobs, and neither does a capped one
-- that was not counted under its lock.
WITH source AS (
    SELECT * FROM unnest(:channel::text[], :type::text[], :share::int[], :since_at::timestamptz[])
        AS l (channel, type, share, since_at)
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
    FROM source
    CROSS JOIN LATERAL (
        SELECT id FROM postino.jobs
        WHERE channel = source.channel AND queue = :queue AND type = source.type AND state <> 'running'
          AND run_at IS NOT NULL AND lane IS NULL AND run_at >= source.since_at AND run_at <= :now
        ORDER BY run_at
        LIMIT source.share
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
-- The first jobs of a brand in each locked lane; of an account's lane only while none of its jobs runs or has a call in
-- doubt.
WITH input AS (
    SELECT * FROM unnest(:channel::text[], :lane::text[], :brand::text[], :type::text[], :lane_limit::int[])
      AS i (channel, lane, brand, type, lane_limit)
), chosen AS (
    SELECT job.id
    FROM input
    CROSS JOIN LATERAL (
        SELECT id FROM postino.jobs
        WHERE channel = input.channel AND lane = input.lane AND queue = :queue AND coalesce(brand, '') = input.brand
          AND type = input.type AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live
          AND NOT ignore_blackouts AND run_at <= :now
        ORDER BY run_at, id
        LIMIT input.lane_limit
        FOR UPDATE SKIP LOCKED
    ) AS job
    WHERE NOT EXISTS (
        SELECT 1 FROM postino.jobs AS busy
        WHERE busy.channel = input.channel AND busy.lane = input.lane AND busy.state = 'running'
          AND busy.account IS NOT NULL
    ) AND NOT EXISTS (
        SELECT 1 FROM postino.jobs AS uncertain
        WHERE uncertain.channel = input.channel AND uncertain.lane = input.lane AND uncertain.state = 'uncertain'
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

-- name: list_misdated_jobs
-- Jobs whose time no program can read. Reads all jobs: only for claims that fail.
SELECT id FROM postino.jobs WHERE NOT run_at BETWEEN '1970-01-02' AND '9000-01-01' LIMIT 500

-- name: list_bulk_candidates
SELECT job.id
FROM unnest(:channel::text[], :type::text[], :queue::int[]) AS source (channel, type, queue)
CROSS JOIN LATERAL (
    SELECT id FROM postino.jobs
    WHERE channel = source.channel AND queue = source.queue AND type = source.type AND state <> 'running' AND run_at IS NOT NULL
      AND lane IS NULL AND run_at <= :now
    ORDER BY run_at LIMIT :most
) AS job

-- name: list_lane_candidates
SELECT job.id
FROM unnest(:channel::text[], :type::text[], :queue::int[]) AS source (channel, type, queue)
CROSS JOIN LATERAL (
    SELECT lane, brand FROM postino.lane_due
    WHERE channel = source.channel AND queue = source.queue AND type = source.type AND due_at <= :now
    ORDER BY due_at LIMIT :most
) AS due
CROSS JOIN LATERAL (
    SELECT id FROM postino.jobs
    WHERE channel = source.channel AND lane = due.lane AND queue = source.queue AND coalesce(brand, '') = due.brand
      AND type = source.type AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts
      AND run_at <= :now
    ORDER BY run_at, id LIMIT :most
) AS job

-- name: list_started_candidates
SELECT job.id
FROM unnest(:channel::text[], :type::text[]) AS source (channel, type)
CROSS JOIN LATERAL (
    SELECT id FROM postino.jobs
    WHERE channel = source.channel AND type = source.type AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL
      AND (may_be_live OR ignore_blackouts) AND run_at <= :now
    ORDER BY run_at LIMIT :most
) AS job

-- name: take_unclaimable_job
-- Values that cannot be read or counted on become bounded ones or NULL, so that the job can be listed and replayed.
UPDATE postino.jobs
SET state = 'uncertain', run_at = NULL, claimed_by = NULL, claimed_at = NULL, token = NULL, deadline_at = NULL,
    dispatched_at = NULL, deferral_reason = NULL, last_error = :error,
    time_limit = CASE WHEN time_limit <= 31622400 THEN time_limit END,
    attempts = least(attempts, 1000), max_attempts = least(max_attempts, 1000), rescues = least(rescues, 1000),
    deferrals = least(deferrals, 1000), rate_limit_count = least(rate_limit_count, 1000),
    scheduled_at = CASE WHEN scheduled_at BETWEEN '1970-01-02' AND '9000-01-01' THEN scheduled_at ELSE :now END,
    created_at = CASE WHEN created_at BETWEEN '1970-01-02' AND '9000-01-01' THEN created_at ELSE :now END,
    lookup_at = CASE WHEN lookup_at BETWEEN '1970-01-02' AND '9000-01-01' THEN lookup_at END
WHERE id = :id AND (state <> 'running' OR token = :token)
RETURNING id

-- name: find_due_times
-- When the first jobs of each type are due, where a channel has jobs of several types: the claim takes the earliest.
SELECT source.channel, source.type, job.run_at
FROM unnest(:channel::text[], :type::text[], :share::int[], :since_at::timestamptz[])
    AS source (channel, type, share, since_at)
CROSS JOIN LATERAL (
    SELECT run_at FROM postino.jobs
    WHERE channel = source.channel AND queue = :queue AND type = source.type AND state <> 'running'
      AND run_at IS NOT NULL AND lane IS NULL AND run_at >= source.since_at AND run_at <= :now
    ORDER BY run_at LIMIT source.share
) AS job
