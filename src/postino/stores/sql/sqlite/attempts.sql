SELECT * FROM postino_all_attempts WHERE job_id = :id ORDER BY started_at, generation, number
