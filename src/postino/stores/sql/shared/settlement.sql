-- name: lock_orphans
-- Jobs that nobody works on any more: their worker is gone, or let the deadline pass. `suspect` is of the jobs rescued
-- before the one their worker runs now; those that still wait for their turn have done nothing wrong.
SELECT job.*, worker.id IS NOT NULL AS overdue, worker.suspect::text AS suspect
FROM postino.jobs AS job LEFT JOIN postino.workers AS worker ON worker.id = job.claimed_by
WHERE job.state = 'running' AND (worker.id IS NULL OR job.deadline_at < :now)
ORDER BY job.id
FOR UPDATE OF job SKIP LOCKED
