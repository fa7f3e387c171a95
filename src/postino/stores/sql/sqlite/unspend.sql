DELETE FROM postino_spent WHERE job_id = :job_id AND step = :step AND number = :number
