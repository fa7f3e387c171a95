SELECT step, position, number, intended_at, send_before_at, look_at FROM postino.intents
WHERE job_id = :job_id ORDER BY position, number
