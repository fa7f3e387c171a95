SELECT name, position, asked_at, done_at, result FROM postino.steps WHERE job_id = :job_id ORDER BY position
