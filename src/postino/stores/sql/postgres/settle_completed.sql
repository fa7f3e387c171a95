-- The common ending, at the price of three rows: it worked. Fenced by the token like settle_finished.
-- The attempt that worked is the finished row itself, so it has none of its own among the attempts.
WITH input AS (
    SELECT * FROM unnest(:id::uuid[], :token::uuid[], :remote_id::text[], :result::text[], :data::text[])
        AS i (id, token, new_remote_id, result, data)
), gone AS (
    DELETE FROM postino.jobs AS job USING input
    WHERE job.id = input.id AND job.token = input.token
    RETURNING job.*, coalesce(input.new_remote_id, job.remote_id) AS known_as, input.result, input.data
), finished AS (
    INSERT INTO postino.finished (id, type, channel, queue, state, account, brand, user_id, parent_id, correlation_id,
        idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation, rescues,
        deferrals, sent, remote_id, result, last_error, claimed_by, claimed_at, token, dispatched_at,
        created_at, finished_at)
    SELECT id, type, channel, queue, 'completed', account, brand, user_id, parent_id, correlation_id,
        idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation, rescues,
        deferrals, sent, known_as, result, last_error, claimed_by, claimed_at, token, dispatched_at,
        created_at, coalesce(:now::timestamptz, now())
    FROM gone
), hint AS (
    INSERT INTO postino.lane_hints (channel, lane, account)
    SELECT channel, lane, account FROM gone WHERE lane IS NOT NULL
), event AS (
    INSERT INTO postino.events (at, type, job_id, data)
    SELECT coalesce(:now::timestamptz, now()), 'job.completed', id, data FROM gone
)
SELECT id FROM gone
