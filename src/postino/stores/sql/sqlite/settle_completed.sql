-- The common ending, at the price of three rows: it worked. Fenced by the token like settle_finished.
-- The attempt that worked is the finished row itself, so it has none of its own among the attempts.
INSERT INTO postino_finished (id, type, channel, queue, state, account, brand, user_id, parent_id, correlation_id,
    idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation, rescues,
    deferrals, sent, remote_id, result, last_error, claimed_by, claimed_at, token, dispatched_at,
    created_at, finished_at)
SELECT job.id, job.type, channel, queue, 'completed', account, brand, user_id, parent_id, correlation_id,
    idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation, rescues,
    deferrals, sent, coalesce(json_extract(:remote_id, '$[' || input.key || ']'), remote_id),
    json_extract(:result, '$[' || input.key || ']'), last_error, claimed_by, claimed_at, token, dispatched_at,
    created_at, :now
FROM json_each(:id) AS input
JOIN postino_jobs AS job ON job.id = input.value AND job.token = json_extract(:token, '$[' || input.key || ']');
INSERT INTO postino_lane_hints (channel, lane, account)
SELECT channel, lane, account FROM json_each(:id) AS input
JOIN postino_jobs AS job ON job.id = input.value AND job.token = json_extract(:token, '$[' || input.key || ']')
WHERE lane IS NOT NULL;
INSERT INTO postino_events (at, type, job_id, data)
SELECT :now, 'job.completed', job.id, json_extract(:data, '$[' || input.key || ']') FROM json_each(:id) AS input
JOIN postino_jobs AS job ON job.id = input.value AND job.token = json_extract(:token, '$[' || input.key || ']');
DELETE FROM postino_jobs WHERE id IN (
    SELECT job.id FROM json_each(:id) AS input
    JOIN postino_jobs AS job ON job.id = input.value AND job.token = json_extract(:token, '$[' || input.key || ']')
)
RETURNING id
