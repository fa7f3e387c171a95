-- name: settle_completed
-- The common case, with only three rows to write. Fenced by the token like settle_finished. The attempt that completed
-- the job is the finished row itself, so attempts gets none.
INSERT INTO postino.finished_jobs (id, type, channel, queue, state, account, brand, user_id, parent_id, correlation_id,
    idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation, rescues,
    deferrals, may_be_live, remote_id, result, last_error, claimed_by, claimed_at, token, dispatched_at,
    created_at, finished_at)
SELECT job.id, job.type, channel, queue, 'completed', account, brand, user_id, parent_id, correlation_id,
    idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation, rescues,
    deferrals, may_be_live, coalesce(json_extract(:remote_id, '$[' || input.key || ']'), remote_id),
    json_extract(:result, '$[' || input.key || ']'), last_error, claimed_by, claimed_at, token, dispatched_at,
    created_at, :now
FROM json_each(:id) AS input
JOIN postino.jobs AS job ON job.id = input.value AND job.token = json_extract(:token, '$[' || input.key || ']');
INSERT INTO postino.events (at, type, job_id, data)
SELECT :now, 'job.completed', job.id, json_extract(:data, '$[' || input.key || ']') FROM json_each(:id) AS input
JOIN postino.jobs AS job ON job.id = input.value AND job.token = json_extract(:token, '$[' || input.key || ']');
DELETE FROM postino.jobs WHERE id IN (
    SELECT job.id FROM json_each(:id) AS input
    JOIN postino.jobs AS job ON job.id = input.value AND job.token = json_extract(:token, '$[' || input.key || ']')
)
RETURNING id

-- name: settle_finished
-- The token fences a worker that wakes up after its lease ended: an id that is not returned was lost. Without a token,
-- a person settles an uncertain job.
INSERT INTO postino.finished_jobs (id, type, channel, queue, state, account, brand, user_id, parent_id, correlation_id,
    idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation, rescues,
    deferrals, may_be_live, remote_id, result, last_error, claimed_by, claimed_at, token, dispatched_at,
    created_at, finished_at)
SELECT id, type, channel, queue, :state, account, brand, user_id, parent_id, correlation_id,
    idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation, rescues,
    deferrals, may_be_live, coalesce(:remote_id, remote_id), :result, coalesce(:error, last_error), claimed_by,
      claimed_at,
    token, dispatched_at, created_at, :now
FROM postino.jobs WHERE id = :id AND token IS :token AND state <> 'pending';
INSERT INTO postino.attempts (job_id, generation, number, started_at, ended_at, worker, outcome, error_class, message,
  trace)
SELECT id, generation, :number, :started_at, :now, :worker, :outcome, :error_class, :message, :trace
FROM postino.jobs WHERE id = :id AND token IS :token AND state <> 'pending';
INSERT INTO postino.dead_letters (id, generation, type, channel, queue, account, brand, user_id, parent_id,
    correlation_id, idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit,
      rescues,
    deferrals, may_be_live, remote_id, last_error, trace, created_at, died_at, cause, history)
SELECT id, generation, type, channel, queue, account, brand, user_id, parent_id,
    correlation_id, idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit,
      rescues,
    deferrals, may_be_live, coalesce(:remote_id, remote_id), coalesce(:error, last_error), :trace, created_at, :now,
      :cause,
    (SELECT json_group_array(json_object(
        'generation', past.generation, 'number', past.number, 'started_at', past.started_at, 'ended_at', past.ended_at,
        'worker', past.worker, 'outcome', past.outcome, 'error_class', past.error_class, 'message', past.message,
        'trace', past.trace
    )) FROM (SELECT * FROM postino.attempts WHERE job_id = :id ORDER BY started_at, rowid) AS past)
FROM postino.jobs WHERE id = :id AND token IS :token AND state <> 'pending' AND :state = 'failed';
INSERT INTO postino.events (at, type, job_id, data)
SELECT :now, :event, id, :data FROM postino.jobs
WHERE id = :id AND token IS :token AND state <> 'pending' AND :event IS NOT NULL;
DELETE FROM postino.jobs WHERE id = :id AND token IS :token AND state <> 'pending' RETURNING id

-- name: settle_unfinished
-- Back to pending, or to uncertain. Fenced by the token like settle_finished.
INSERT INTO postino.attempts (job_id, generation, number, started_at, ended_at, worker, outcome, error_class, message,
  trace)
SELECT id, generation, :number, :started_at, :now, :worker, :outcome, :error_class, :message, :trace
FROM postino.jobs WHERE id = :id AND token IS :token AND state <> 'pending' AND :recorded;
INSERT INTO postino.events (at, type, job_id, data)
SELECT :now, :event, id, :data FROM postino.jobs
WHERE id = :id AND token IS :token AND state <> 'pending' AND :event IS NOT NULL;
UPDATE postino.jobs
SET state = :state, run_at = :run_at, attempts = attempts - :refund, rescues = rescues + :rescued,
    deferrals = deferrals + (:deferral_reason IS NOT NULL), rate_limit_count = rate_limit_count + :rate_limited,
      deferral_reason = :deferral_reason, last_error = coalesce(:error, last_error),
    claimed_by = NULL, claimed_at = NULL, token = NULL, deadline_at = NULL, dispatched_at = NULL
WHERE id = :id AND token IS :token AND state <> 'pending'
RETURNING id

-- name: find_settled
-- After a lost response: the settlements that were committed all the same.
SELECT :id AS id
WHERE EXISTS (SELECT 1 FROM postino.finished_jobs WHERE id = :id AND token = :token)
   OR EXISTS (
       SELECT 1 FROM postino.attempts
       WHERE job_id = :id AND worker = :worker AND started_at = :started_at AND outcome = :outcome
   )
