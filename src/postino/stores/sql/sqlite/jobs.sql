-- name: insert_jobs
-- The key decides: if another job has it, nothing is inserted, and the caller reads that job afterwards. changes()
-- tells whether the statement before inserted a row. The id could not: a call repeated after a lost response has the
-- same one.
INSERT INTO postino.idempotency_keys (channel, key, job_id) SELECT :channel, :key, :id
  WHERE :key IS NOT NULL ON CONFLICT DO NOTHING;
INSERT INTO postino.jobs (id, type, channel, queue, state, lane, account, brand, user_id, parent_id, correlation_id,
                          idempotency_key, payload, scheduled_at, run_at, max_attempts, backoff, time_limit, created_at)
SELECT :id, :type, :channel, :queue, 'pending', :lane, :account, :brand, :user_id, :parent_id, :correlation_id,
       coalesce(:key, :id), :payload, coalesce(:run_at, :now), max(coalesce(:run_at, :now), :now), :max_attempts,
       :backoff, :time_limit, :now
WHERE :key IS NULL OR changes() = 1
RETURNING id, created_at;
INSERT INTO postino.channels (type, channel) VALUES (:type, :channel) ON CONFLICT DO NOTHING

-- name: find_jobs
-- A list, not a join: only a list reaches the indexes below the view.
SELECT * FROM postino.stored_jobs WHERE id = ANY (:ids)

-- name: find_jobs_by_key
-- The id as a value, not as a join: only a value reaches the indexes below the view.
SELECT :key AS wanted_key, job.*
FROM postino.stored_jobs AS job
WHERE job.id = (SELECT job_id FROM postino.idempotency_keys WHERE channel = :channel AND key = :key)

-- name: list_jobs
-- One page of each table through its index, then one page of all: finished jobs are never scanned.
WITH page AS MATERIALIZED (
    SELECT id FROM (SELECT id FROM postino.jobs WHERE
      (cardinality(:states) = 0 OR state = ANY (:states))
      AND (:type IS NULL OR type = :type)
      AND (:channel IS NULL OR channel = :channel)
      AND (:account IS NULL OR account = :account)
      AND (:queue IS NULL OR queue = :queue)
      AND (:parent_id IS NULL OR parent_id = :parent_id)
      AND (:before IS NULL OR id < :before)
      AND :unfinished
    ORDER BY id DESC LIMIT :limit)
    UNION
    SELECT id FROM (SELECT id FROM postino.finished_jobs WHERE
      (cardinality(:states) = 0 OR state = ANY (:states))
      AND (:type IS NULL OR type = :type)
      AND (:channel IS NULL OR channel = :channel)
      AND (:account IS NULL OR account = :account)
      AND (:queue IS NULL OR queue = :queue)
      AND (:parent_id IS NULL OR parent_id = :parent_id)
      AND (:before IS NULL OR id < :before)
      AND NOT superseded AND :ended
    ORDER BY id DESC LIMIT :limit)
    UNION
    SELECT id FROM (SELECT id FROM postino.archived_jobs WHERE
      (cardinality(:states) = 0 OR state = ANY (:states))
      AND (:type IS NULL OR type = :type)
      AND (:channel IS NULL OR channel = :channel)
      AND (:account IS NULL OR account = :account)
      AND (:queue IS NULL OR queue = :queue)
      AND (:parent_id IS NULL OR parent_id = :parent_id)
      AND (:before IS NULL OR id < :before)
      AND NOT superseded AND :ended
    ORDER BY id DESC LIMIT :limit)
), sized AS (
    SELECT id, coalesce(sum(length(payload) + coalesce(length(result), 0))
      OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), 0) AS earlier_bytes
    FROM postino.stored_jobs WHERE id IN (SELECT id FROM page ORDER BY id DESC LIMIT :limit)
)
SELECT * FROM postino.stored_jobs
WHERE id IN (SELECT id FROM sized WHERE :max_bytes IS NULL OR earlier_bytes <= :max_bytes)
ORDER BY id DESC

-- name: list_busy_jobs
-- Few jobs are running or uncertain: all of them through their own index, then the newest.
WITH busy AS MATERIALIZED (
    SELECT id, brand, type, channel, account, queue, parent_id FROM postino.jobs INDEXED BY postino.jobs_running
    WHERE state = 'running' AND 'running' = ANY (:states)
    UNION ALL
    SELECT id, brand, type, channel, account, queue, parent_id FROM postino.jobs INDEXED BY postino.jobs_uncertain
    WHERE state = 'uncertain' AND 'uncertain' = ANY (:states)
), page AS (
    SELECT id FROM busy WHERE
      (:brands IS NULL OR brand = ANY (:brands))
      AND (:type IS NULL OR type = :type)
      AND (:channel IS NULL OR channel = :channel)
      AND (:account IS NULL OR account = :account)
      AND (:queue IS NULL OR queue = :queue)
      AND (:parent_id IS NULL OR parent_id = :parent_id)
      AND (:before IS NULL OR id < :before)
    ORDER BY id DESC LIMIT :limit
), sized AS (
    SELECT id, coalesce(sum(length(payload) + coalesce(length(result), 0))
      OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), 0) AS earlier_bytes
    FROM postino.stored_jobs WHERE id IN (SELECT id FROM page ORDER BY id DESC LIMIT :limit)
)
SELECT * FROM postino.stored_jobs
WHERE id IN (SELECT id FROM sized WHERE :max_bytes IS NULL OR earlier_bytes <= :max_bytes)
ORDER BY id DESC

-- name: list_jobs_by_brand
-- One page of each table through its index, then one page of all: finished jobs are never scanned.
WITH page AS MATERIALIZED (
    SELECT id FROM (SELECT id FROM postino.jobs WHERE
      brand = ANY (:brands) AND brand IS NOT NULL AND
      (cardinality(:states) = 0 OR state = ANY (:states))
      AND (:type IS NULL OR type = :type)
      AND (:channel IS NULL OR channel = :channel)
      AND (:account IS NULL OR account = :account)
      AND (:queue IS NULL OR queue = :queue)
      AND (:parent_id IS NULL OR parent_id = :parent_id)
      AND (:before IS NULL OR id < :before)
      AND :unfinished
    ORDER BY id DESC LIMIT :limit)
    UNION
    SELECT id FROM (SELECT id FROM postino.finished_jobs WHERE
      brand = ANY (:brands) AND brand IS NOT NULL AND
      (cardinality(:states) = 0 OR state = ANY (:states))
      AND (:type IS NULL OR type = :type)
      AND (:channel IS NULL OR channel = :channel)
      AND (:account IS NULL OR account = :account)
      AND (:queue IS NULL OR queue = :queue)
      AND (:parent_id IS NULL OR parent_id = :parent_id)
      AND (:before IS NULL OR id < :before)
      AND NOT superseded AND :ended
    ORDER BY id DESC LIMIT :limit)
    UNION
    SELECT id FROM (SELECT id FROM postino.archived_jobs WHERE
      brand = ANY (:brands) AND brand IS NOT NULL AND
      (cardinality(:states) = 0 OR state = ANY (:states))
      AND (:type IS NULL OR type = :type)
      AND (:channel IS NULL OR channel = :channel)
      AND (:account IS NULL OR account = :account)
      AND (:queue IS NULL OR queue = :queue)
      AND (:parent_id IS NULL OR parent_id = :parent_id)
      AND (:before IS NULL OR id < :before)
      AND NOT superseded AND :ended
    ORDER BY id DESC LIMIT :limit)
), sized AS (
    SELECT id, coalesce(sum(length(payload) + coalesce(length(result), 0))
      OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), 0) AS earlier_bytes
    FROM postino.stored_jobs WHERE id IN (SELECT id FROM page ORDER BY id DESC LIMIT :limit)
)
SELECT * FROM postino.stored_jobs
WHERE id IN (SELECT id FROM sized WHERE :max_bytes IS NULL OR earlier_bytes <= :max_bytes)
ORDER BY id DESC

-- name: scan_jobs
-- Newest first. Reads at most :scan jobs, whether they match or not, and always returns the last one read: the next
-- page starts there.
WITH walked AS MATERIALIZED (
    SELECT * FROM (
        SELECT * FROM (SELECT id, state, type, channel, account, queue, parent_id, length(payload) AS bytes
          FROM postino.jobs WHERE :unfinished AND id < :before ORDER BY id DESC LIMIT :scan)
        UNION ALL
        SELECT * FROM (SELECT id, state, type, channel, account, queue, parent_id,
            length(payload) + coalesce(length(result), 0) FROM postino.finished_jobs
          WHERE :ended AND id < :before AND NOT superseded ORDER BY id DESC LIMIT :scan)
        UNION ALL
        SELECT * FROM (SELECT id, state, type, channel, account, queue, parent_id,
            length(payload) + coalesce(length(result), 0) FROM postino.archived_jobs
          WHERE :ended AND id < :before AND NOT superseded ORDER BY id DESC LIMIT :scan)
    ) ORDER BY id DESC LIMIT :scan
), checked AS (
    SELECT id, bytes, (cardinality(:states) = 0 OR state = ANY (:states))
        AND (:type IS NULL OR type = :type) AND (:channel IS NULL OR channel = :channel)
        AND (:account IS NULL OR account IS NOT NULL AND account = :account)
        AND (:queue IS NULL OR queue = :queue)
        AND (:parent_id IS NULL OR parent_id IS NOT NULL AND parent_id = :parent_id) AS fits
    FROM walked
)
SELECT id, fits, bytes, (SELECT count(*) FROM walked) AS walked
FROM checked
WHERE fits OR id = (SELECT id FROM walked ORDER BY id LIMIT 1)
ORDER BY id DESC

-- name: cancel_job
-- Compare-and-set: a pending job of which nothing is out, or a running post before its intent. The worker commits its
-- intent before it sends anything, and finds no row then. No row returned means that something else came first. An
-- attempt in which nothing was sent does not count.
INSERT INTO postino.finished_jobs (id, type, channel, queue, state, account, brand, user_id, parent_id, correlation_id,
    idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation, rescues,
    deferrals, may_be_live, remote_id, last_error, dispatched_at, created_at, finished_at)
SELECT id, type, channel, queue, 'cancelled', account, brand, user_id, parent_id, correlation_id,
    idempotency_key, payload, scheduled_at, run_at, attempts - (state = 'running'), max_attempts, backoff, time_limit,
    generation, rescues, deferrals, may_be_live, remote_id, last_error, dispatched_at, created_at, :now
FROM postino.jobs WHERE id = :id AND NOT may_be_live AND (state = 'pending' OR state = 'running' AND type = :post);
DELETE FROM postino.jobs
WHERE id = :id AND NOT may_be_live AND (state = 'pending' OR state = 'running' AND type = :post)
RETURNING id

-- name: reschedule_job
UPDATE postino.jobs
SET scheduled_at = coalesce(:run_at, :now), run_at = max(coalesce(:run_at, :now), :now), dispatched_at = NULL,
  deferral_reason = NULL,
    -- The decision was about one time and does not hold for another.
    ignore_blackouts = :ignore_blackouts OR (ignore_blackouts AND :run_at IS NULL)
WHERE id = :id AND state = 'pending' AND NOT may_be_live
RETURNING id

-- name: mark_dispatched
UPDATE postino.jobs SET dispatched_at = :now WHERE state = 'pending' AND run_at <= :now AND dispatched_at IS NULL;
SELECT changes() AS dispatched

-- name: get_circumstances
-- What surrounds a job, real or planned, beyond what every claim knows: gates of its account, the job that holds its
-- lane, calls in doubt on its channel, how many jobs are due before it, and the workers.
SELECT 'gate' AS kind, name, until_at AS due_at,
       json_object('scope', scope, 'name', name, 'kind', kind, 'since_at', since_at, 'until_at', until_at, 'reason',
         reason) AS detail,
       NULL AS amount
FROM postino.gates
WHERE scope = 'account' AND name = :account AND until_at > :now
UNION ALL
SELECT 'busy', id, claimed_at, claimed_by, NULL FROM postino.jobs
WHERE channel = :channel AND lane = :lane AND state = 'running' AND account IS NOT NULL
UNION ALL
SELECT 'doubt', lane, lookup_at, coalesce(brand, ''), NULL FROM postino.jobs
WHERE id <> :id AND state = 'uncertain' AND channel = :channel AND lookup_at > :now
UNION ALL
SELECT 'ahead', NULL, NULL, NULL, count(*) FROM (
    SELECT 1 FROM postino.jobs
    WHERE NOT :started AND channel = :channel AND lane = :lane AND state <> 'running'
      AND run_at IS NOT NULL AND lane IS NOT NULL AND coalesce(brand, '') <> ALL (:closed_brands)
      AND NOT may_be_live AND NOT ignore_blackouts AND run_at <= :now AND (queue, run_at, id) < (:queue, :run_at, :id)
    UNION ALL
    SELECT 1 FROM postino.jobs
    WHERE channel = :channel AND lane = :lane AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL
      AND (may_be_live OR ignore_blackouts) AND run_at <= :now AND (NOT :started OR (run_at, id) < (:run_at, :id))
    UNION ALL
    SELECT 1 FROM postino.jobs
    WHERE :lane IS NULL AND channel = :channel AND state <> 'running' AND run_at IS NOT NULL AND lane IS NULL
      AND type = :type AND run_at <= :now AND (queue, run_at, id) < (:queue, :run_at, :id)
    LIMIT :most_ahead
)
UNION ALL
SELECT 'worker', id, NULL, json_object('host', host, 'types', types), pid FROM postino.workers
UNION ALL
SELECT 'until', NULL, publish_until_at, NULL, NULL FROM postino.posts WHERE id = :id

-- name: replay_dead_letter
-- Inserts a copy with the next generation. The history stays, and so does the key.
UPDATE postino.finished_jobs SET superseded = 1 WHERE id = :id AND NOT superseded;
UPDATE postino.archived_jobs SET superseded = 1 WHERE id = :id AND NOT superseded;
INSERT INTO postino.jobs (id, type, channel, queue, state, lane, account, brand, user_id, parent_id, correlation_id,
    idempotency_key, payload, scheduled_at, run_at, max_attempts, backoff, time_limit, generation, may_be_live,
    lookup_at, last_error, created_at)
SELECT id, type, channel, queue, 'pending', :lane, account, brand, user_id, parent_id, correlation_id,
    idempotency_key, coalesce(:payload, payload), scheduled_at, coalesce(:run_at, :now), max_attempts, backoff,
      time_limit, generation + 1,
    :may_be_live, :lookup_at, last_error, created_at
FROM postino.dead_letters WHERE id = :id AND generation = :generation AND resolved_at IS NULL;
UPDATE postino.dead_letters SET resolved_at = :now, resolution = 'replayed'
WHERE id = :id AND generation = :generation AND resolved_at IS NULL
