-- The token fences a worker that wakes up after its lease ended: a row that does not come back was lost.
-- (No token is a person settling an uncertain job.) Job, history, dead letter, hint and event are one truth.
INSERT INTO postino_finished (id, type, channel, queue, state, account, brand, user_id, parent_id, correlation_id,
    idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation, rescues,
    deferrals, sent, remote_id, result, last_error, claimed_by, claimed_at, token, dispatched_at,
    created_at, finished_at)
SELECT id, type, channel, queue, :state, account, brand, user_id, parent_id, correlation_id,
    idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation, rescues,
    deferrals, sent, coalesce(:remote_id, remote_id), :result, coalesce(:error, last_error), claimed_by, claimed_at,
    token, dispatched_at, created_at, :now
FROM postino_jobs WHERE id = :id AND token IS :token AND state <> 'pending';
INSERT INTO postino_attempts (job_id, generation, number, started_at, ended_at, worker, outcome, error_class, message, trace)
SELECT id, generation, :number, :started_at, :now, :worker, :outcome, :error_class, :message, :trace
FROM postino_jobs WHERE id = :id AND token IS :token AND state <> 'pending';
INSERT INTO postino_dead_letters (id, generation, type, channel, queue, account, brand, user_id, parent_id,
    correlation_id, idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, rescues,
    deferrals, sent, remote_id, last_error, trace, created_at, died_at, cause, history)
SELECT id, generation, type, channel, queue, account, brand, user_id, parent_id,
    correlation_id, idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, rescues,
    deferrals, sent, coalesce(:remote_id, remote_id), coalesce(:error, last_error), :trace, created_at, :now, :cause,
    (SELECT json_group_array(json_object(
        'generation', past.generation, 'number', past.number, 'started_at', past.started_at, 'ended_at', past.ended_at,
        'worker', past.worker, 'outcome', past.outcome, 'error_class', past.error_class, 'message', past.message,
        'trace', past.trace
    )) FROM (SELECT * FROM postino_attempts WHERE job_id = :id ORDER BY started_at, rowid) AS past)
FROM postino_jobs WHERE id = :id AND token IS :token AND state <> 'pending' AND :state = 'failed';
INSERT INTO postino_lane_hints (channel, lane, account)
SELECT channel, lane, account FROM postino_jobs
WHERE id = :id AND token IS :token AND state <> 'pending' AND lane IS NOT NULL;
INSERT INTO postino_events (at, type, job_id, data)
SELECT :now, :event, id, :data FROM postino_jobs
WHERE id = :id AND token IS :token AND state <> 'pending' AND :event IS NOT NULL;
DELETE FROM postino_jobs WHERE id = :id AND token IS :token AND state <> 'pending' RETURNING id
