-- name: insert_worker
INSERT INTO postino.workers (id, host, pid, started_at) VALUES (:id, :host, :pid, :now)
ON CONFLICT (id) DO NOTHING  -- repeated after a lost response

-- name: record_heartbeat
UPDATE postino.workers SET heartbeats = heartbeats + 1 WHERE id = :worker RETURNING heartbeats

-- name: set_suspect
-- Written before the worker runs a job that was rescued before: if the worker dies too, this job is the cause.
UPDATE postino.workers SET suspect = :job_id WHERE id = :worker

-- name: list_workers
SELECT id AS worker, host, pid, started_at, heartbeats FROM postino.workers ORDER BY started_at, id

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

-- name: lock_database_identity
SELECT identity, alive_at FROM postino.database_identity WHERE id = 1 FOR UPDATE

-- name: save_database_identity
INSERT INTO postino.database_identity (id, identity, alive_at) VALUES (1, :identity, :now)
ON CONFLICT (id) DO UPDATE SET identity = excluded.identity, alive_at = excluded.alive_at

-- name: record_alive
UPDATE postino.database_identity SET alive_at = :now

-- name: hold_due_posts
-- A restored database does not know what was sent since its backup, so due posts wait for a person. Jobs with a call in
-- doubt are left out: a lookup answers for them.
UPDATE postino.jobs
SET state = 'uncertain', run_at = NULL, deferral_reason = :why, claimed_by = NULL, claimed_at = NULL, token = NULL,
    deadline_at = NULL, dispatched_at = NULL
WHERE type = :type AND state IN ('pending', 'running') AND lookup_at IS NULL AND run_at <= :now
RETURNING *
