-- A copy with the next generation: the history stays where it is, and the key stays this job's.
UPDATE postino_finished SET superseded = 1 WHERE id = :id AND NOT superseded;
UPDATE postino_kept SET superseded = 1 WHERE id = :id AND NOT superseded;
INSERT INTO postino_jobs (id, type, channel, queue, state, lane, account, brand, user_id, parent_id, correlation_id,
    idempotency_key, payload, scheduled_at, run_at, max_attempts, backoff, time_limit, generation, sent, last_error, created_at)
SELECT id, type, channel, queue, 'pending', :lane, account, brand, user_id, parent_id, correlation_id,
    idempotency_key, coalesce(:payload, payload), scheduled_at, coalesce(:run_at, :now), max_attempts, backoff, time_limit, generation + 1,
    sent, last_error, created_at
FROM postino_dead_letters WHERE id = :id AND generation = :generation AND resolved_at IS NULL;
UPDATE postino_dead_letters SET resolved_at = :now, resolution = 'replayed'
WHERE id = :id AND generation = :generation AND resolved_at IS NULL;
INSERT INTO postino_lane_hints (channel, lane, account)
SELECT channel, lane, account FROM postino_jobs WHERE id = :id AND lane IS NOT NULL
