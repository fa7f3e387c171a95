-- A remote post belongs to the job that has it first; whose it is comes back.
WITH ours AS (
    INSERT INTO postino.published (channel, account, remote_id, job_id, at)
    VALUES (:channel, :account, :remote_id, :job_id, coalesce(:now::timestamptz, now()))
    ON CONFLICT (channel, account, remote_id) DO UPDATE SET at = published.at
    RETURNING job_id
)
SELECT job_id FROM ours
