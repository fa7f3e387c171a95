-- name: lock_caps
-- Count running jobs in a later statement: this statement's snapshot is older than its lock, and the cap would be
-- exceeded. Rows that another claim holds are skipped: waiting for a worker that is frozen in its claim would stop all
-- the others.
SELECT channel FROM postino.caps
WHERE channel = ANY (:channels::text[])
ORDER BY channel
FOR UPDATE SKIP LOCKED

-- name: list_types
SELECT DISTINCT type FROM postino.channels

-- name: list_waiting_types
-- Types of unfinished jobs that are none of these. One index probe for each channel and queue.
SELECT DISTINCT known.type FROM postino.channels AS known
WHERE known.type <> ALL (:handled::text[]) AND (EXISTS (
    SELECT 1 FROM postino.jobs AS job
    WHERE job.channel = known.channel AND job.queue IN (0, 1, 2) AND job.type = known.type AND job.state <> 'running'
      AND job.run_at IS NOT NULL AND job.lane IS NULL
) OR EXISTS (
    SELECT 1 FROM postino.lane_due AS due
    WHERE due.channel = known.channel AND due.queue IN (0, 1, 2) AND due.type = known.type
))
ORDER BY known.type LIMIT 100

-- name: list_channels
SELECT DISTINCT channel, type FROM postino.channels WHERE type = ANY (:types::text[])

-- name: list_claimed_jobs
SELECT id FROM postino.jobs WHERE state = 'running' AND token = :token

-- name: read_claimable_jobs
-- What a claim of these jobs computes and returns.
SELECT job.*, job.attempts + 1 AS next_attempt, :now + make_interval(secs => job.time_limit) AS new_deadline_at
FROM postino.jobs AS job WHERE job.id = ANY (:ids::uuid[])
