-- Whose key it is comes back: this job's, or that of the one that had it first.
INSERT INTO postino_keys (channel, key, job_id) VALUES (:channel, :key, :job_id)
ON CONFLICT (channel, key) DO UPDATE SET job_id = job_id
RETURNING job_id
