-- name: lock_orphans
-- Running jobs whose worker is gone or whose deadline has passed. `suspect` is the rescued job that the worker was
-- running: jobs that only waited in the same worker are not to blame.
SELECT job.*, worker.id IS NOT NULL AS overdue, worker.suspect::text AS suspect
FROM postino.jobs AS job LEFT JOIN postino.workers AS worker ON worker.id = job.claimed_by
WHERE job.state = 'running' AND (worker.id IS NULL OR job.deadline_at < :now)
ORDER BY job.id
FOR UPDATE OF job SKIP LOCKED
