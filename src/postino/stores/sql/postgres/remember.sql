-- Fenced by the token: whoever lost the job remembers nothing. Asked again, a step keeps when it was first asked for.
WITH held AS (
    UPDATE postino.jobs SET deadline_at = coalesce(:now::timestamptz, now()) + make_interval(secs => :limit::float8)
    WHERE id = :job_id AND token = :token
    RETURNING id
)
INSERT INTO postino.steps AS step (job_id, name, position, asked_at, done_at, result)
SELECT id, :name, :position, coalesce(:now::timestamptz, now()),
       CASE WHEN :done THEN coalesce(:now::timestamptz, now()) END, :result
FROM held
ON CONFLICT (job_id, name) DO UPDATE SET done_at = excluded.done_at, result = excluded.result
RETURNING name, position, asked_at, done_at, result
