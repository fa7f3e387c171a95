-- The keys decide: a row whose key is already another job's is left out, and the caller reads that job afterwards,
-- in a statement of its own, because this one's snapshot may predate the winner's commit.
WITH input AS (
    SELECT * FROM unnest(
        :id::uuid[], :type::text[], :channel::text[], :queue::smallint[], :lane::text[], :account::text[], :brand::text[],
        :user_id::text[], :parent_id::uuid[], :correlation_id::text[], :key::text[], :payload::bytea[],
        :run_at::timestamptz[], :max_attempts::int[], :backoff::text[], :time_limit::float8[]
    ) WITH ORDINALITY AS i (id, type, channel, queue, lane, account, brand, user_id, parent_id, correlation_id, key, payload,
            run_at, max_attempts, backoff, time_limit, position)
), won AS (
    -- In key order, so that two callers with the same keys wait for each other instead of deadlocking.
    INSERT INTO postino.keys (channel, key, job_id)
    SELECT channel, key, id FROM input WHERE key IS NOT NULL ORDER BY channel, key, position
    ON CONFLICT DO NOTHING
    RETURNING job_id
), job AS (
    INSERT INTO postino.jobs (id, type, channel, queue, state, lane, account, brand, user_id, parent_id, correlation_id,
                              idempotency_key, payload, scheduled_at, run_at, max_attempts, backoff, time_limit, created_at)
    SELECT id, type, channel, queue, 'pending', lane, account, brand, user_id, parent_id, correlation_id,
           coalesce(key, id::text), payload, coalesce(run_at, coalesce(:now::timestamptz, now())),
           -- Never in the past: claims start looking where they last found something.
           greatest(run_at, coalesce(:now::timestamptz, now())), max_attempts, backoff, time_limit,
           coalesce(:now::timestamptz, now())
    FROM input
    WHERE key IS NULL OR id IN (SELECT job_id FROM won)
    RETURNING id, channel, lane, account, created_at
), hint AS (
    INSERT INTO postino.lane_hints (channel, lane, account)
    SELECT DISTINCT channel, lane, account FROM job WHERE lane IS NOT NULL
), channel AS (
    INSERT INTO postino.channels (channel)
    SELECT DISTINCT channel FROM job
    WHERE NOT EXISTS (SELECT FROM postino.channels AS known WHERE known.channel = job.channel)
)
-- One row without an id says that all of them were written.
SELECT NULL::uuid AS id, coalesce(:now::timestamptz, now()) AS created_at
WHERE (SELECT count(*) FROM job) = cardinality(:id::uuid[])
UNION ALL
SELECT id, created_at FROM job WHERE (SELECT count(*) FROM job) < cardinality(:id::uuid[])
