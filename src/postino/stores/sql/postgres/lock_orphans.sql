SELECT * FROM postino.jobs AS job
WHERE state = 'running' AND NOT EXISTS (SELECT FROM postino.workers WHERE workers.id = job.claimed_by)
ORDER BY id
FOR UPDATE SKIP LOCKED
