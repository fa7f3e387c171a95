DELETE FROM postino_steps WHERE job_id = :job_id
