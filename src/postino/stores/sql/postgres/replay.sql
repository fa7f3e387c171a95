-- A copy with the next generation: the history stays where it is, and the key stays this job's.
WITH letter AS (
    UPDATE postino.dead_letters SET resolved_at = coalesce(:now::timestamptz, now()), resolution = 'replayed'
    WHERE id = :id AND generation = :generation AND resolved_at IS NULL
    RETURNING *
), past AS (
    UPDATE postino.finished SET superseded = true
    WHERE id = :id AND NOT superseded AND EXISTS (SELECT FROM letter)
), long_past AS (
    UPDATE postino.kept SET superseded = true
    WHERE id = :id AND NOT superseded AND EXISTS (SELECT FROM letter)
), job AS (
    INSERT INTO postino.jobs (id, type, channel, queue, state, lane, account, brand, user_id, parent_id, correlation_id,
        idempotency_key, payload, scheduled_at, run_at, max_attempts, backoff, time_limit, generation, sent, last_error, created_at)
    SELECT id, type, channel, queue, 'pending', :lane, account, brand, user_id, parent_id, correlation_id,
        idempotency_key, coalesce(:payload::bytea, payload), scheduled_at, coalesce(:run_at::timestamptz, :now::timestamptz, now()),
        max_attempts, backoff, time_limit, generation + 1, sent, last_error, created_at
    FROM letter
    RETURNING channel, lane, account, brand
)
INSERT INTO postino.lane_hints (channel, lane, account)
SELECT channel, lane, account FROM job WHERE lane IS NOT NULL
