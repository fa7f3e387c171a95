SELECT job.*
FROM unnest(:id::uuid[]) AS wanted (id)
JOIN postino.stored_jobs AS job ON job.id = wanted.id
