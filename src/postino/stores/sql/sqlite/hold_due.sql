-- Due, and by all that is written here not out; but what is written here may be old. What is in doubt anyway is asked about.
UPDATE postino_jobs
SET state = 'uncertain', run_at = NULL, deferred = :why, claimed_by = NULL, claimed_at = NULL, token = NULL,
    deadline_at = NULL, dispatched_at = NULL
WHERE type = :type AND state IN ('pending', 'running') AND look_at IS NULL AND run_at <= :now
RETURNING *
