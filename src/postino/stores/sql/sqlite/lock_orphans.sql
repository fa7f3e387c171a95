SELECT * FROM postino_jobs AS job
WHERE state = 'running' AND NOT EXISTS (SELECT 1 FROM postino_workers AS worker WHERE worker.id = job.claimed_by)
ORDER BY id
