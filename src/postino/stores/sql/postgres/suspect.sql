-- Written before a job that was rescued before is run again: if this worker dies too, it was this one.
UPDATE postino.workers SET suspect = :job_id WHERE id = :worker
