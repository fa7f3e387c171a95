-- A remote post belongs to the job that has it first; whose it is comes back.
INSERT INTO postino_published (channel, account, remote_id, job_id, at)
VALUES (:channel, :account, :remote_id, :job_id, :now)
ON CONFLICT (channel, account, remote_id) DO UPDATE SET at = at
RETURNING job_id
