-- Each id as a value, not as a join: only a value finds its way to the indexes below the view.
SELECT known.key AS wanted_key, job.*
FROM unnest(:channel::text[], :key::text[]) AS wanted (channel, key)
JOIN postino.keys AS known ON known.channel = wanted.channel AND known.key = wanted.key
CROSS JOIN LATERAL (SELECT * FROM postino.stored_jobs WHERE id = known.job_id OFFSET 0) AS job
