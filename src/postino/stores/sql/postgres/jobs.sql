-- name: insert_jobs
-- The keys decide: a job whose key belongs to another job is not inserted. The caller reads that job in a later
-- statement, because this statement's snapshot may be older than the winner's commit.
WITH input AS (
    SELECT * FROM unnest(
        :id::uuid[], :type::text[], :channel::text[], :queue::smallint[], :lane::text[], :account::text[],
          :brand::text[],
        :user_id::text[], :parent_id::uuid[], :correlation_id::text[], :key::text[], :payload::bytea[],
        :run_at::timestamptz[], :max_attempts::int[], :backoff::text[], :time_limit::float8[]
    ) WITH ORDINALITY AS i (id, type, channel, queue, lane, account, brand, user_id, parent_id, correlation_id, key,
      payload,
            run_at, max_attempts, backoff, time_limit, position)
), won AS (
    -- In the order of the keys, so that callers with the same keys wait for each other instead of deadlocking.
    INSERT INTO postino.idempotency_keys (channel, key, job_id)
    SELECT channel, key, id FROM input WHERE key IS NOT NULL ORDER BY channel, key, position
    ON CONFLICT DO NOTHING
    RETURNING job_id
), job AS (
    INSERT INTO postino.jobs (id, type, channel, queue, state, lane, account, brand, user_id, parent_id, correlation_id,
                              idempotency_key, payload, scheduled_at, run_at, max_attempts, backoff, time_limit,
                                created_at)
    SELECT id, type, channel, queue, 'pending', lane, account, brand, user_id, parent_id, correlation_id,
           coalesce(key, id::text), payload, coalesce(run_at, :now),
           -- Never in the past: claims start reading where they last found a job.
           greatest(run_at, :now), max_attempts, backoff, time_limit,
           :now
    FROM input
    WHERE key IS NULL OR id IN (SELECT job_id FROM won)
    RETURNING id, channel, type, created_at
), channel AS (
    INSERT INTO postino.channels (channel, type)
    SELECT DISTINCT channel, type FROM job
    WHERE NOT EXISTS (
        SELECT 1 FROM postino.channels AS known WHERE known.channel = job.channel AND known.type = job.type
    )
)
-- One row without an id means that all jobs were inserted.
SELECT NULL::uuid AS id, :now AS created_at
WHERE (SELECT count(*) FROM job) = cardinality(:id::uuid[])
UNION ALL
SELECT id, created_at FROM job WHERE (SELECT count(*) FROM job) < cardinality(:id::uuid[])

-- name: find_jobs
-- Each id as a value, not as a join: only a value reaches the indexes below the view.
SELECT job.*
FROM unnest(:ids::uuid[]) AS input (id)
CROSS JOIN LATERAL (SELECT * FROM postino.stored_jobs WHERE id = input.id OFFSET 0) AS job

-- name: find_jobs_by_key
-- The id as a value, not as a join: only a value reaches the indexes below the view.
SELECT known.key AS wanted_key, job.*
FROM unnest(:channel::text[], :key::text[]) AS input (channel, key)
JOIN postino.idempotency_keys AS known ON known.channel = input.channel AND known.key = input.key
CROSS JOIN LATERAL (SELECT * FROM postino.stored_jobs WHERE id = known.job_id OFFSET 0) AS job

-- name: list_jobs
-- One page of each table through its index, then one page of all: finished jobs are never scanned.
WITH page AS (
    (SELECT id FROM postino.jobs WHERE
      (cardinality(:states::text[]) = 0 OR state = ANY (:states::text[]))
      AND (:type::text IS NULL OR type = :type)
      AND (:channel::text IS NULL OR channel = :channel)
      AND (:account::text IS NULL OR account = :account)
      AND (:queue::int IS NULL OR queue = :queue)
      AND (:parent_id::uuid IS NULL OR parent_id = :parent_id)
      AND (:before::uuid IS NULL OR id < :before)
      AND :unfinished::boolean
    ORDER BY id DESC LIMIT :limit)
    UNION ALL
    (SELECT id FROM postino.finished_jobs WHERE
      (cardinality(:states::text[]) = 0 OR state = ANY (:states::text[]))
      AND (:type::text IS NULL OR type = :type)
      AND (:channel::text IS NULL OR channel = :channel)
      AND (:account::text IS NULL OR account = :account)
      AND (:queue::int IS NULL OR queue = :queue)
      AND (:parent_id::uuid IS NULL OR parent_id = :parent_id)
      AND (:before::uuid IS NULL OR id < :before)
      AND NOT superseded AND :ended::boolean
    ORDER BY id DESC LIMIT :limit)
    UNION ALL
    (SELECT id FROM postino.archived_jobs WHERE
      (cardinality(:states::text[]) = 0 OR state = ANY (:states::text[]))
      AND (:type::text IS NULL OR type = :type)
      AND (:channel::text IS NULL OR channel = :channel)
      AND (:account::text IS NULL OR account = :account)
      AND (:queue::int IS NULL OR queue = :queue)
      AND (:parent_id::uuid IS NULL OR parent_id = :parent_id)
      AND (:before::uuid IS NULL OR id < :before)
      AND NOT superseded AND :ended::boolean
    ORDER BY id DESC LIMIT :limit)
), sized AS (
    SELECT id, coalesce(sum(length(payload) + coalesce(length(result), 0))
      OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), 0) AS earlier_bytes
    FROM postino.stored_jobs WHERE id = ANY (ARRAY (SELECT DISTINCT id FROM page ORDER BY id DESC LIMIT :limit))
)
SELECT * FROM postino.stored_jobs
WHERE id = ANY (ARRAY (SELECT id FROM sized WHERE :max_bytes::bigint IS NULL OR earlier_bytes <= :max_bytes))
ORDER BY id DESC

-- name: list_busy_jobs
-- Few jobs are running or uncertain: all of them through their own index, then the newest.
WITH busy AS MATERIALIZED (
    SELECT id FROM postino.jobs WHERE
      state <> 'pending' AND state = ANY (:states::text[])
      AND (:brands::text[] IS NULL OR brand = ANY (:brands))
      AND (:type::text IS NULL OR type = :type)
      AND (:channel::text IS NULL OR channel = :channel)
      AND (:account::text IS NULL OR account = :account)
      AND (:queue::int IS NULL OR queue = :queue)
      AND (:parent_id::uuid IS NULL OR parent_id = :parent_id)
      AND (:before::uuid IS NULL OR id < :before)
), sized AS (
    SELECT id, coalesce(sum(length(payload) + coalesce(length(result), 0))
      OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), 0) AS earlier_bytes
    FROM postino.stored_jobs WHERE id = ANY (ARRAY (SELECT id FROM busy ORDER BY id DESC LIMIT :limit))
)
SELECT * FROM postino.stored_jobs
WHERE id = ANY (ARRAY (SELECT id FROM sized WHERE :max_bytes::bigint IS NULL OR earlier_bytes <= :max_bytes))
ORDER BY id DESC

-- name: list_jobs_by_brand
-- One page of each brand through its index, then one page of all: a brand with few jobs does not scan the jobs of
-- others.
WITH page AS (
    SELECT one.id
    FROM (SELECT DISTINCT brand FROM unnest(:brands::text[]) AS given (brand)) AS input
    CROSS JOIN LATERAL (
    (SELECT id FROM postino.jobs WHERE
      brand = input.brand AND (cardinality(:states::text[]) = 0 OR state = ANY (:states::text[]))
      AND (:type::text IS NULL OR type = :type)
      AND (:channel::text IS NULL OR channel = :channel)
      AND (:account::text IS NULL OR account = :account)
      AND (:queue::int IS NULL OR queue = :queue)
      AND (:parent_id::uuid IS NULL OR parent_id = :parent_id)
      AND (:before::uuid IS NULL OR id < :before)
      AND :unfinished::boolean
    ORDER BY id DESC LIMIT :limit)
    UNION ALL
    (SELECT id FROM postino.finished_jobs WHERE
      brand = input.brand AND (cardinality(:states::text[]) = 0 OR state = ANY (:states::text[]))
      AND (:type::text IS NULL OR type = :type)
      AND (:channel::text IS NULL OR channel = :channel)
      AND (:account::text IS NULL OR account = :account)
      AND (:queue::int IS NULL OR queue = :queue)
      AND (:parent_id::uuid IS NULL OR parent_id = :parent_id)
      AND (:before::uuid IS NULL OR id < :before)
      AND NOT superseded AND :ended::boolean
    ORDER BY id DESC LIMIT :limit)
    UNION ALL
    (SELECT id FROM postino.archived_jobs WHERE
      brand = input.brand AND (cardinality(:states::text[]) = 0 OR state = ANY (:states::text[]))
      AND (:type::text IS NULL OR type = :type)
      AND (:channel::text IS NULL OR channel = :channel)
      AND (:account::text IS NULL OR account = :account)
      AND (:queue::int IS NULL OR queue = :queue)
      AND (:parent_id::uuid IS NULL OR parent_id = :parent_id)
      AND (:before::uuid IS NULL OR id < :before)
      AND NOT superseded AND :ended::boolean
    ORDER BY id DESC LIMIT :limit)
    ) AS one
), sized AS (
    SELECT id, coalesce(sum(length(payload) + coalesce(length(result), 0))
      OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), 0) AS earlier_bytes
    FROM postino.stored_jobs WHERE id = ANY (ARRAY (SELECT DISTINCT id FROM page ORDER BY id DESC LIMIT :limit))
)
SELECT * FROM postino.stored_jobs
WHERE id = ANY (ARRAY (SELECT id FROM sized WHERE :max_bytes::bigint IS NULL OR earlier_bytes <= :max_bytes))
ORDER BY id DESC

-- name: scan_jobs
-- Newest first. Reads at most :scan jobs, whether they match or not, and always returns the last one read: the next
-- page starts there.
WITH walked AS MATERIALIZED (
    SELECT * FROM (
        (SELECT id, state, type, channel, account, queue, parent_id, length(payload) AS bytes
          FROM postino.jobs WHERE :unfinished::boolean AND id < :before ORDER BY id DESC LIMIT :scan)
        UNION ALL
        (SELECT id, state, type, channel, account, queue, parent_id, length(payload) + coalesce(length(result), 0)
          FROM postino.finished_jobs WHERE :ended::boolean AND id < :before AND NOT superseded ORDER BY id DESC LIMIT :scan)
        UNION ALL
        (SELECT id, state, type, channel, account, queue, parent_id, length(payload) + coalesce(length(result), 0)
          FROM postino.archived_jobs WHERE :ended::boolean AND id < :before AND NOT superseded ORDER BY id DESC LIMIT :scan)
    ) AS every ORDER BY id DESC LIMIT :scan
), checked AS (
    SELECT id, bytes, (cardinality(:states::text[]) = 0 OR state = ANY (:states::text[]))
        AND (:type::text IS NULL OR type = :type) AND (:channel::text IS NULL OR channel = :channel)
        AND (:account::text IS NULL OR account IS NOT NULL AND account = :account)
        AND (:queue::int IS NULL OR queue = :queue)
        AND (:parent_id::uuid IS NULL OR parent_id IS NOT NULL AND parent_id = :parent_id) AS fits
    FROM walked
)
SELECT id, fits, bytes, (SELECT count(*) FROM walked) AS walked
FROM checked
WHERE fits OR id = (SELECT id FROM walked ORDER BY id LIMIT 1)
ORDER BY id DESC

-- name: cancel_job
-- Compare-and-set: a pending job of which nothing is out, or a running post before its intent. The worker commits its
-- intent under the lock of this row before it sends anything, and finds no row then. No row returned means that
-- something else came first. An attempt in which nothing was sent does not count.
WITH deleted AS (
    DELETE FROM postino.jobs
    WHERE id = :id AND NOT may_be_live AND (state = 'pending' OR state = 'running' AND type = :post)
    RETURNING *
), ending AS (
    INSERT INTO postino.finished_jobs (id, type, channel, queue, state, account, brand, user_id, parent_id,
      correlation_id,
        idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation,
          rescues,
        deferrals, may_be_live, remote_id, last_error, dispatched_at, created_at, finished_at)
    SELECT id, type, channel, queue, 'cancelled', account, brand, user_id, parent_id, correlation_id,
        idempotency_key, payload, scheduled_at, run_at, attempts - (state = 'running')::int, max_attempts, backoff,
          time_limit, generation, rescues,
        deferrals, may_be_live, remote_id, last_error, dispatched_at, created_at, :now
    FROM deleted
)
SELECT id FROM deleted

-- name: reschedule_job
UPDATE postino.jobs
SET scheduled_at = coalesce(:run_at::timestamptz, :now),
    run_at = greatest(:run_at::timestamptz, :now), dispatched_at = NULL, deferral_reason = NULL,
    -- The decision was about one time and does not hold for another.
    ignore_blackouts = :ignore_blackouts::boolean OR (ignore_blackouts AND :run_at::timestamptz IS NULL)
WHERE id = :id AND state = 'pending' AND NOT may_be_live
RETURNING id

-- name: mark_dispatched
WITH due AS (
    SELECT id FROM postino.jobs
    WHERE state = 'pending' AND run_at <= :now AND dispatched_at IS NULL
    FOR UPDATE SKIP LOCKED
), dispatched AS (
    UPDATE postino.jobs AS job SET dispatched_at = :now
    FROM due WHERE job.id = due.id
    RETURNING 1
)
SELECT count(*) AS dispatched FROM dispatched

-- name: get_circumstances
-- What surrounds a job, real or planned, beyond what every claim knows: gates of its account, the job that holds its
-- lane, calls in doubt on its channel, how many jobs are due before it, and the workers.
SELECT 'gate' AS kind, name, until_at AS due_at, row_to_json(gate)::text AS detail, NULL::bigint AS amount
FROM postino.gates AS gate
WHERE scope = 'account' AND name = :account AND until_at > :now
UNION ALL
SELECT 'busy', id::text, claimed_at, claimed_by, NULL FROM postino.jobs
WHERE channel = :channel AND lane = :lane AND state = 'running' AND account IS NOT NULL
UNION ALL
SELECT 'doubt', lane, lookup_at, coalesce(brand, ''), NULL FROM postino.jobs
WHERE id <> :id::uuid AND state = 'uncertain' AND channel = :channel AND lookup_at > :now
UNION ALL
SELECT 'ahead', NULL, NULL, NULL, count(*) FROM (
    SELECT 1 FROM postino.jobs
    WHERE NOT :started AND channel = :channel AND lane = :lane AND state <> 'running'
      AND run_at IS NOT NULL AND lane IS NOT NULL AND coalesce(brand, '') <> ALL (:closed_brands::text[])
      AND NOT may_be_live AND NOT ignore_blackouts AND run_at <= :now
      AND (queue, run_at, id) < (:queue::int, :run_at::timestamptz, :id::uuid)
    UNION ALL
    SELECT 1 FROM postino.jobs
    WHERE channel = :channel AND lane = :lane AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL
      AND (may_be_live OR ignore_blackouts) AND run_at <= :now
      AND (NOT :started OR (run_at, id) < (:run_at::timestamptz, :id::uuid))
    UNION ALL
    SELECT 1 FROM postino.jobs
    WHERE :lane::text IS NULL AND channel = :channel AND state <> 'running' AND run_at IS NOT NULL AND lane IS NULL
      AND type = :type AND run_at <= :now
      AND (queue, run_at, id) < (:queue::int, :run_at::timestamptz, :id::uuid)
    LIMIT :most_ahead
) AS before
UNION ALL
SELECT 'worker', id, NULL, json_build_object('host', host, 'types', types)::text, pid FROM postino.workers
UNION ALL
SELECT 'until', NULL, publish_until_at, NULL, NULL FROM postino.posts WHERE id = :id

-- name: replay_dead_letter
-- Inserts a copy with the next generation. The history stays, and so does the key.
WITH letter AS (
    UPDATE postino.dead_letters SET resolved_at = :now, resolution = 'replayed'
    WHERE id = :id AND generation = :generation AND resolved_at IS NULL
    RETURNING *
), past AS (
    UPDATE postino.finished_jobs SET superseded = true
    WHERE id = :id AND NOT superseded AND EXISTS (SELECT 1 FROM letter)
), long_past AS (
    UPDATE postino.archived_jobs SET superseded = true
    WHERE id = :id AND NOT superseded AND EXISTS (SELECT 1 FROM letter)
)
INSERT INTO postino.jobs (id, type, channel, queue, state, lane, account, brand, user_id, parent_id, correlation_id,
    idempotency_key, payload, scheduled_at, run_at, max_attempts, backoff, time_limit, generation, may_be_live,
    lookup_at, last_error, created_at)
SELECT id, type, channel, queue, 'pending', :lane, account, brand, user_id, parent_id, correlation_id,
    idempotency_key, coalesce(:payload::bytea, payload), scheduled_at, coalesce(:run_at::timestamptz, :now),
    max_attempts, backoff, time_limit, generation + 1, :may_be_live, :lookup_at::timestamptz, last_error, created_at
FROM letter
