DELETE FROM postino.steps WHERE job_id = :job_id
