DELETE FROM postino.spent WHERE job_id = :job_id AND step = :step AND number = :number
