-- The id as a value, not as a join: only a value finds its way to the indexes below the view.
SELECT :key AS wanted_key, job.*
FROM postino_stored_jobs AS job
WHERE job.id = (SELECT job_id FROM postino_keys WHERE channel = :channel AND key = :key)
