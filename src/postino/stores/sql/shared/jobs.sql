-- name: claim_key
-- Returns the job that has the key: this one, or the one that had it first.
INSERT INTO postino.idempotency_keys AS known (channel, key, job_id) VALUES (:channel, :key, :job_id)
ON CONFLICT (channel, key) DO UPDATE SET job_id = known.job_id
RETURNING job_id

-- name: get_job
SELECT * FROM postino.stored_jobs WHERE id = :id

-- name: lock_job
SELECT * FROM postino.jobs WHERE id = :id FOR UPDATE

-- name: set_payload
UPDATE postino.jobs SET payload = :payload WHERE id = :id AND state = 'pending' AND NOT may_be_live RETURNING id

-- name: prioritise_job
UPDATE postino.jobs SET queue = :queue WHERE id = :id AND state = 'pending'

-- name: ignore_blackouts
UPDATE postino.jobs SET ignore_blackouts = true WHERE id = ANY (:ids::uuid[])

-- name: list_attempts
SELECT * FROM postino.all_attempts WHERE job_id = :id ORDER BY started_at, generation, number

-- name: count_queue_depths
SELECT channel, queue, state, count(*) AS jobs, min(run_at) AS oldest_run_at FROM postino.jobs
GROUP BY channel, queue, state
ORDER BY channel, queue, state

-- name: count_jobs_by_worker
SELECT claimed_by, count(*) AS jobs FROM postino.jobs WHERE state = 'running' GROUP BY claimed_by

-- name: has_collision
-- True if another job is planned for the same time: of the account, or without one of the brand or channel.
SELECT EXISTS (
    SELECT 1 FROM postino.jobs
    WHERE channel = :channel AND state = 'pending' AND run_at > :after_at::timestamptz
      AND run_at < :before_at::timestamptz
      AND (:account::text IS NULL OR lane = '@' || :account)
      AND (:account::text IS NOT NULL OR :brand::text IS NULL OR brand = :brand)
) AS collides

-- name: list_dead_letters
WITH page AS (
    SELECT id, generation, length(payload) + coalesce(length(trace), 0) AS bytes FROM postino.dead_letters WHERE
      (cardinality(:ids::uuid[]) = 0 OR id = ANY (:ids::uuid[]))
      AND (:type::text IS NULL OR type = :type)
      AND (:channel::text IS NULL OR channel = :channel)
      AND (:cause::text IS NULL OR cause = :cause)
      AND (:brands::text[] IS NULL OR brand = ANY (:brands))
      AND (:account::text IS NULL OR account = :account)
      AND (:resolved OR resolved_at IS NULL)
      AND (:before::uuid IS NULL OR id < :before)
    ORDER BY id DESC, generation DESC
    LIMIT :limit
), sized AS (
    SELECT id, generation, coalesce(sum(bytes)
      OVER (ORDER BY id DESC, generation DESC ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), 0) AS earlier_bytes
    FROM page
)
SELECT * FROM postino.dead_letters
WHERE (id, generation) IN (
    SELECT id, generation FROM sized WHERE :max_bytes::bigint IS NULL OR earlier_bytes <= :max_bytes
)
ORDER BY id DESC, generation DESC

-- name: get_dead_letter_cause
SELECT cause FROM postino.dead_letters WHERE id = :id AND generation = :generation

-- name: lock_dead_letter
SELECT * FROM postino.dead_letters WHERE id = :id ORDER BY generation DESC LIMIT 1 FOR UPDATE

-- name: discard_dead_letter
UPDATE postino.dead_letters SET resolved_at = :now, resolution = 'discarded'
WHERE id = :id AND generation = :generation AND resolved_at IS NULL
RETURNING *

-- name: get_time
SELECT :now AS now_at
