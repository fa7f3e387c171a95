-- name: insert_intents
-- Fenced by the token. From here on the network may have the post. Repeated after a lost response, it returns the same
-- intents. One job may have two intents, and PostgreSQL updates a row only once per statement: hence the aggregate.
WITH input AS (
    SELECT * FROM unnest(:job_id::uuid[], :token::uuid[], :step::text[], :position::int[], :number::int[],
                         :send_within::float8[], :settles_within::float8[], :limit::float8[])
        AS i (job_id, token, step, position, number, send_within, settles_within, seconds)
), request AS (
    SELECT job_id, token, max(send_within + settles_within) AS quarantine, max(seconds) AS seconds
    FROM input GROUP BY job_id, token
), held AS (
    UPDATE postino.jobs AS job
    SET may_be_live = true,
        lookup_at = greatest(job.lookup_at, :now + make_interval(secs => request.quarantine)),
        deadline_at = :now + make_interval(secs => request.seconds)
    FROM request
    WHERE job.id = request.job_id AND job.token = request.token
    RETURNING request.job_id, request.token
)
INSERT INTO postino.intents AS intent (job_id, step, number, position, token, intended_at, send_before_at, lookup_at)
SELECT job_id, step, number, position, token, :now,
       :now + make_interval(secs => send_within),
       :now + make_interval(secs => send_within + settles_within)
FROM held JOIN input USING (job_id, token)
ON CONFLICT (job_id, step, number) DO UPDATE SET token = intent.token
RETURNING job_id, step, position, number, intended_at, send_before_at, lookup_at

-- name: save_step
-- Fenced by the token: a worker that lost the job saves nothing. A repeated step keeps the time when it was first asked
-- for.
WITH held AS (
    UPDATE postino.jobs SET deadline_at = :now + make_interval(secs => :limit::float8)
    WHERE id = :job_id AND token = :token
    RETURNING id
)
INSERT INTO postino.steps AS step (job_id, name, position, asked_at, done_at, result)
SELECT id, :name, :position, :now,
       CASE WHEN :done THEN :now END, :result
FROM held
ON CONFLICT (job_id, name) DO UPDATE SET done_at = excluded.done_at, result = excluded.result
RETURNING name, position, asked_at, done_at, result

-- name: delete_step
-- Fenced by the token. Once something visible was sent, only the named step is deleted: the call was built on the
-- others.
WITH held AS (
    SELECT id, may_be_live FROM postino.jobs WHERE id = :job_id AND token = :token FOR UPDATE
), deleted AS (
    DELETE FROM postino.steps USING held WHERE job_id = held.id AND (name = :name OR NOT held.may_be_live)
)
SELECT id FROM held

-- name: requeue_uncertain
-- Sets when the network may be asked. An uncertain job is requeued for that time, because a new receipt has arrived.
WITH updated AS (
    UPDATE postino.jobs
    SET lookup_at = :lookup_at::timestamptz, run_at = CASE WHEN state = 'uncertain'
        THEN greatest(:lookup_at::timestamptz, :now) ELSE run_at END
    WHERE id = :job_id
    RETURNING channel, lane, account, state
)
INSERT INTO postino.lane_hints (channel, lane, account)
SELECT channel, lane, account FROM updated WHERE lane IS NOT NULL AND state = 'uncertain'
