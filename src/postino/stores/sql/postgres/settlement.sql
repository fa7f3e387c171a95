-- name: settle_completed
-- The common case, with only three rows to write. Fenced by the token like settle_finished. The attempt that completed
-- the job is the finished row itself, so attempts gets none.
WITH input AS (
    SELECT * FROM unnest(:id::uuid[], :token::uuid[], :remote_id::text[], :result::text[], :data::text[])
        AS i (id, token, new_remote_id, result, data)
), deleted AS (
    DELETE FROM postino.jobs AS job USING input
    WHERE job.id = input.id AND job.token = input.token
    RETURNING job.*, coalesce(input.new_remote_id, job.remote_id) AS known_as, input.result, input.data
), ending AS (
    INSERT INTO postino.finished_jobs (id, type, channel, queue, state, account, brand, user_id, parent_id,
      correlation_id,
        idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation,
          rescues,
        deferrals, may_be_live, remote_id, result, last_error, claimed_by, claimed_at, token, dispatched_at,
        created_at, finished_at)
    SELECT id, type, channel, queue, 'completed', account, brand, user_id, parent_id, correlation_id,
        idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation,
          rescues,
        deferrals, may_be_live, known_as, result, last_error, claimed_by, claimed_at, token, dispatched_at,
        created_at, :now
    FROM deleted
), event AS (
    INSERT INTO postino.events (at, type, job_id, data)
    SELECT :now, 'job.completed', id, data FROM deleted
)
SELECT id FROM deleted

-- name: settle_finished
-- The token fences a worker that wakes up after its lease ended: an id that is not returned was lost. Without a token,
-- a person settles an uncertain job under its lock. Job, attempt, dead letter and event are one statement.
WITH input AS (
    SELECT * FROM unnest(
        :id::uuid[], :token::uuid[], :state::text[], :remote_id::text[], :result::text[], :error::text[],
          :cause::text[],
        :number::int[], :started_at::timestamptz[], :worker::text[],
        :outcome::text[], :error_class::text[], :message::text[], :trace::text[], :event::text[], :data::text[]
    ) AS i (id, token, state, remote_id, result, error, cause, number, started_at, worker, outcome, error_class,
      message, trace, event, data)
), deleted AS (
    DELETE FROM postino.jobs AS job USING input
    WHERE job.id = input.id AND job.token IS NOT DISTINCT FROM input.token AND job.state <> 'pending'
    RETURNING job.*, input.state AS ending, input.remote_id AS new_remote_id, input.result, input.error, input.cause,
              input.number, input.started_at, input.worker, input.outcome, input.error_class, input.message,
                input.trace, input.event, input.data
), ending AS (
    INSERT INTO postino.finished_jobs (id, type, channel, queue, state, account, brand, user_id, parent_id,
      correlation_id,
        idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation,
          rescues,
        deferrals, may_be_live, remote_id, result, last_error, claimed_by, claimed_at, token, dispatched_at,
        created_at, finished_at)
    SELECT id, type, channel, queue, ending, account, brand, user_id, parent_id, correlation_id,
        idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation,
          rescues,
        deferrals, may_be_live, coalesce(new_remote_id, remote_id), result, coalesce(error, last_error), claimed_by,
          claimed_at,
        token, dispatched_at, created_at, :now
    FROM deleted
), attempt AS (
    INSERT INTO postino.attempts (job_id, generation, number, started_at, ended_at, worker, outcome, error_class,
      message, trace)
    SELECT id, generation, number, started_at, :now, worker, outcome, error_class, message, trace
    FROM deleted
), dead AS (
    INSERT INTO postino.dead_letters (id, generation, type, channel, queue, account, brand, user_id, parent_id,
        correlation_id, idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit,
          rescues,
        deferrals, may_be_live, remote_id, last_error, trace, created_at, died_at, cause, history)
    SELECT id, generation, type, channel, queue, account, brand, user_id, parent_id,
        correlation_id, idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit,
          rescues,
        deferrals, may_be_live, coalesce(new_remote_id, remote_id), coalesce(error, last_error), trace, created_at,
        :now, cause,
        (coalesce((
            SELECT jsonb_agg(to_jsonb(past) - 'job_id' ORDER BY past.started_at)
            FROM postino.attempts AS past WHERE past.job_id = deleted.id
         ), '[]') || jsonb_build_object(
            'generation', generation, 'number', number, 'started_at', started_at,
            'ended_at', :now, 'worker', worker, 'outcome', outcome,
            'error_class', error_class, 'message', message, 'trace', trace
        ))::text
    FROM deleted WHERE ending = 'failed'
), event AS (
    INSERT INTO postino.events (at, type, job_id, data)
    SELECT :now, event, id, data FROM deleted WHERE event IS NOT NULL
)
SELECT id FROM deleted

-- name: settle_unfinished
-- Back to pending, or to uncertain. Fenced by the token like settle_finished.
WITH input AS (
    SELECT * FROM unnest(
        :id::uuid[], :token::uuid[], :state::text[], :run_at::timestamptz[], :refund::boolean[], :rescued::boolean[],
        :deferral_reason::text[], :rate_limited::boolean[], :error::text[], :recorded::boolean[], :number::int[],
          :started_at::timestamptz[], :worker::text[],
        :outcome::text[], :error_class::text[], :message::text[], :trace::text[], :event::text[], :data::text[]
    ) AS i (id, token, state, run_at, refund, rescued, deferral_reason, rate_limited, error, recorded, number,
      started_at, worker,
            outcome, error_class, message, trace, event, data)
), updated AS (
    UPDATE postino.jobs AS job
    SET state = input.state, run_at = input.run_at, attempts = job.attempts - input.refund::int,
        rescues = job.rescues + input.rescued::int,
          deferrals = job.deferrals + (input.deferral_reason IS NOT NULL)::int,
        rate_limit_count = job.rate_limit_count + input.rate_limited::int, deferral_reason = input.deferral_reason,
          last_error = coalesce(input.error, job.last_error),
        claimed_by = NULL, claimed_at = NULL, token = NULL, deadline_at = NULL, dispatched_at = NULL
    FROM input
    WHERE job.id = input.id AND job.token IS NOT DISTINCT FROM input.token AND job.state <> 'pending'
    RETURNING job.generation, input.*
), attempt AS (
    INSERT INTO postino.attempts (job_id, generation, number, started_at, ended_at, worker, outcome, error_class,
      message, trace)
    SELECT id, generation, number, started_at, :now, worker, outcome, error_class, message, trace
    FROM updated WHERE recorded
), event AS (
    INSERT INTO postino.events (at, type, job_id, data)
    SELECT :now, event, id, data FROM updated WHERE event IS NOT NULL
)
SELECT id FROM updated

-- name: find_settled
-- After a lost response: the settlements that were committed all the same.
SELECT input.id
FROM unnest(:id::uuid[], :token::uuid[], :worker::text[], :started_at::timestamptz[], :outcome::text[])
    AS input (id, token, worker, started_at, outcome)
WHERE EXISTS (SELECT 1 FROM postino.finished_jobs AS job WHERE job.id = input.id AND job.token = input.token)
   OR EXISTS (
       SELECT 1 FROM postino.attempts AS past
       WHERE past.job_id = input.id AND past.worker = input.worker AND past.started_at = input.started_at
         AND past.outcome = input.outcome
   )
