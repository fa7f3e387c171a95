-- name: insert_worker
INSERT INTO postino.workers (id, host, pid, started_at, types) VALUES (:id, :host, :pid, :now, :types)
ON CONFLICT (id) DO NOTHING  -- repeated after a lost response

-- name: record_heartbeat
UPDATE postino.workers SET heartbeats = heartbeats + 1 WHERE id = :worker RETURNING heartbeats

-- name: set_suspect
-- Written before the worker runs a job that was rescued before: if the worker dies too, this job is the cause.
UPDATE postino.workers SET suspect = :job_id WHERE id = :worker

-- name: set_worker_trouble
UPDATE postino.workers
SET trouble = :trouble, trouble_since_at = CASE WHEN :trouble::text IS NULL THEN NULL
    ELSE coalesce(trouble_since_at, :now - make_interval(secs => :seconds)) END
WHERE id = :worker

-- name: list_workers
SELECT id AS worker, host, pid, started_at, heartbeats, trouble, trouble_since_at, types FROM postino.workers ORDER BY started_at, id

-- name: delete_worker
DELETE FROM postino.workers WHERE id = :id

-- name: take_duty
INSERT INTO postino.duties AS known (duty, holder, held_until_at)
VALUES (:duty, :holder, :now + make_interval(secs => :seconds))
ON CONFLICT (duty) DO UPDATE SET holder = excluded.holder, held_until_at = excluded.held_until_at
WHERE (known.held_until_at IS NULL OR known.held_until_at < :now)
  AND (known.done_at IS NULL OR known.done_at <= :now - make_interval(secs => :every))
RETURNING duty

-- name: finish_duty
UPDATE postino.duties SET done_at = :now, held_until_at = NULL
WHERE duty = :duty AND holder = :holder
