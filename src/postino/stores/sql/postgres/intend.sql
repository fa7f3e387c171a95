-- Fenced by the token; from here on the job is sent. Repeated after a lost answer, it finds itself.
WITH input AS (
    SELECT * FROM unnest(:job_id::uuid[], :token::uuid[], :step::text[], :position::int[], :number::int[],
                         :send_within::float8[], :settles_within::float8[], :limit::float8[])
        AS i (job_id, token, step, position, number, send_within, settles_within, seconds)
), held AS (
    UPDATE postino.jobs AS job
    SET sent = true,
        look_at = coalesce(:now::timestamptz, now()) + make_interval(secs => input.send_within + input.settles_within),
        deadline_at = coalesce(:now::timestamptz, now()) + make_interval(secs => input.seconds)
    FROM input
    WHERE job.id = input.job_id AND job.token = input.token
    RETURNING input.*
)
INSERT INTO postino.intents AS intent (job_id, step, number, position, token, intended_at, send_before_at, look_at)
SELECT job_id, step, number, position, token, coalesce(:now::timestamptz, now()),
       coalesce(:now::timestamptz, now()) + make_interval(secs => send_within),
       coalesce(:now::timestamptz, now()) + make_interval(secs => send_within + settles_within)
FROM held
ON CONFLICT (job_id, step, number) DO UPDATE SET token = intent.token
RETURNING job_id, step, position, number, intended_at, send_before_at, look_at
