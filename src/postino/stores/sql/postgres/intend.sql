-- Fenced by the token; from here on the job is sent. Repeated after a lost answer, it finds itself. One job may intend
-- two things at once, and PostgreSQL changes a row only once in a statement: hence the sum of them first.
WITH input AS (
    SELECT * FROM unnest(:job_id::uuid[], :token::uuid[], :step::text[], :position::int[], :number::int[],
                         :send_within::float8[], :settles_within::float8[], :limit::float8[])
        AS i (job_id, token, step, position, number, send_within, settles_within, seconds)
), asked AS (
    SELECT job_id, token, max(send_within + settles_within) AS quarantine, max(seconds) AS seconds
    FROM input GROUP BY job_id, token
), held AS (
    UPDATE postino.jobs AS job
    SET sent = true,
        look_at = greatest(job.look_at, coalesce(:now::timestamptz, now()) + make_interval(secs => asked.quarantine)),
        deadline_at = coalesce(:now::timestamptz, now()) + make_interval(secs => asked.seconds)
    FROM asked
    WHERE job.id = asked.job_id AND job.token = asked.token
    RETURNING asked.job_id, asked.token
)
INSERT INTO postino.intents AS intent (job_id, step, number, position, token, intended_at, send_before_at, look_at)
SELECT job_id, step, number, position, token, coalesce(:now::timestamptz, now()),
       coalesce(:now::timestamptz, now()) + make_interval(secs => send_within),
       coalesce(:now::timestamptz, now()) + make_interval(secs => send_within + settles_within)
FROM held JOIN input USING (job_id, token)
ON CONFLICT (job_id, step, number) DO UPDATE SET token = intent.token
RETURNING job_id, step, position, number, intended_at, send_before_at, look_at
