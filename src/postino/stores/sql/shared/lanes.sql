-- name: lock_hints_shared
-- While a claim applies hints, nobody may open a gate: the transaction that opens it would not see the lanes that the
-- claim is closing, and would not hint at them.
SELECT pg_advisory_xact_lock_shared(hashtext('postino.lanes'))

-- name: lock_hints
-- Waits for claims that apply hints, so that the lanes they close are visible, and keeps new ones out.
SELECT pg_advisory_xact_lock(hashtext('postino.lanes'))

-- name: insert_hints
-- A gate of an account or a brand was opened or closed: all lanes of it must be looked at again.
INSERT INTO postino.lane_hints (channel, lane, account, low_priority)
SELECT lane.channel, lane.lane, lane.account, true
FROM postino.lanes AS lane
JOIN postino.lane_due AS due ON due.channel = lane.channel AND due.lane = lane.lane
WHERE :scope = 'account' AND lane.account = :name
UNION
SELECT lane.channel, lane.lane, lane.account, true
FROM postino.lane_due AS due
JOIN postino.lanes AS lane ON lane.channel = due.channel AND lane.lane = due.lane
WHERE :scope = 'brand' AND due.brand = :name

-- name: hint_jobs
-- The lanes of these jobs must be looked at again. Everything else that hints at lanes is a trigger on jobs.
INSERT INTO postino.lane_hints (channel, lane, account)
SELECT channel, lane, account FROM postino.jobs WHERE id = ANY (:ids::uuid[]) AND lane IS NOT NULL

-- name: hint_services
-- The circuits of these services have changed: the lanes of their accounts must be looked at again.
INSERT INTO postino.lane_hints (channel, lane, account, low_priority)
SELECT DISTINCT due.channel, due.lane, account.id, true
FROM postino.accounts AS account
JOIN postino.lane_due AS due ON due.channel = account.network AND due.lane = '@' || account.id
WHERE account.service = ANY (:services::text[])

-- name: list_unknown_channels
-- Polls look for jobs of known channels only, on each of three paths: without a lane, in lanes, and jobs that may be live
-- or ignore blackouts. These channels have such jobs, and are not known. Each path is one index, of which this reads one
-- entry for each channel.
WITH RECURSIVE bulk AS (
    SELECT min(channel) AS channel FROM postino.jobs WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NULL
    UNION ALL
    SELECT (SELECT min(job.channel) FROM postino.jobs AS job
            WHERE job.channel > bulk.channel AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NULL)
    FROM bulk WHERE bulk.channel IS NOT NULL
), queued AS (
    SELECT min(channel) AS channel FROM postino.jobs
    WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts
    UNION ALL
    SELECT (SELECT min(job.channel) FROM postino.jobs AS job
            WHERE job.channel > queued.channel AND job.state <> 'running' AND job.run_at IS NOT NULL
              AND job.lane IS NOT NULL AND NOT job.may_be_live AND NOT job.ignore_blackouts)
    FROM queued WHERE queued.channel IS NOT NULL
), started AS (
    SELECT min(channel) AS channel FROM postino.jobs
    WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND (may_be_live OR ignore_blackouts)
    UNION ALL
    SELECT (SELECT min(job.channel) FROM postino.jobs AS job
            WHERE job.channel > started.channel AND job.state <> 'running' AND job.run_at IS NOT NULL
              AND job.lane IS NOT NULL AND (job.may_be_live OR job.ignore_blackouts))
    FROM started WHERE started.channel IS NOT NULL
)
SELECT channel FROM (SELECT channel FROM bulk UNION SELECT channel FROM queued UNION SELECT channel FROM started) AS used
WHERE channel IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM postino.channels AS known WHERE known.channel = used.channel)

-- name: list_first_jobs
SELECT * FROM postino.jobs WHERE id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER (PARTITION BY channel ORDER BY id) AS place FROM postino.jobs
        WHERE channel = ANY (:channels::text[]) AND state <> 'running' AND run_at IS NOT NULL
    ) AS numbered
    WHERE place = 1
)

-- name: insert_channels
-- All types of jobs on the channels of these jobs.
INSERT INTO postino.channels (channel, type)
SELECT DISTINCT job.channel, job.type FROM postino.jobs AS job
WHERE job.channel IN (SELECT lost.channel FROM postino.jobs AS lost WHERE lost.id = ANY (:ids::uuid[]))
  AND NOT EXISTS (
      SELECT 1 FROM postino.channels AS known WHERE known.channel = job.channel AND known.type = job.type
  )
