SELECT known.key AS wanted_key, job.*
FROM unnest(:channel::text[], :key::text[]) AS wanted (channel, key)
JOIN postino.keys AS known ON known.channel = wanted.channel AND known.key = wanted.key
JOIN postino.stored_jobs AS job ON job.id = known.job_id
