SELECT known.key AS wanted_key, job.*
FROM postino_keys AS known
JOIN postino_all_jobs AS job ON job.id = known.job_id
WHERE known.channel = :channel AND known.key = :key
