WITH due AS (
    SELECT id FROM postino.jobs
    WHERE state = 'pending' AND run_at <= coalesce(:now::timestamptz, now()) AND dispatched_at IS NULL
    FOR UPDATE SKIP LOCKED
), dispatched AS (
    UPDATE postino.jobs AS job SET dispatched_at = coalesce(:now::timestamptz, now())
    FROM due WHERE job.id = due.id
    RETURNING 1
)
SELECT count(*) AS dispatched FROM dispatched
