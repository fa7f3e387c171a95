-- name: insert_intents
-- Fenced by the token. From here on the network may have the post. Repeated after a lost response, it returns the same
-- intent. A pause that was committed before holds a job of which nothing may be live. With a witness, the batch counts
-- in its row, and nothing is written unless the database is open and has all that the process knows of it. changes() is
-- 1 if the job was updated. A row without a job says that the batch was accepted.
UPDATE postino.witnesses SET n = :n + 1, mark = :mark, seen_at = :now
WHERE id = :witness AND lost_from IS NULL AND (n = :n OR (n = :n + 1 AND mark = :mark))
  AND EXISTS (SELECT 1 FROM postino.database_state WHERE standing = 'open' AND era = :era AND pulse >= :pulse
      AND place = postino.locate());
UPDATE postino.jobs
SET may_be_live = 1, lookup_at = max(coalesce(lookup_at, ''),
        :now + make_interval(secs => :send_within + :lookup_delay)),
    deadline_at = :now + make_interval(secs => :limit)
WHERE id = :job_id AND token = :token AND (:witness IS NULL OR EXISTS (
    SELECT 1 FROM postino.witnesses, postino.database_state
    WHERE postino.witnesses.id = :witness AND mark = :mark AND standing = 'open' AND era = :era AND pulse >= :pulse
      AND place = postino.locate()
)) AND ((may_be_live AND lane IS NOT NULL) OR NOT EXISTS (
    SELECT 1 FROM postino.gates AS gate
    WHERE gate.kind = 'pause' AND gate.until_at > :now AND (gate.scope, gate.name) IN (VALUES
        ('all', ''), ('channel', channel), ('brand', brand), ('account', account),
        ('queue', CASE queue WHEN 0 THEN 'high' WHEN 1 THEN 'default' ELSE 'low' END))
));
INSERT INTO postino.intents AS intent (job_id, step, number, position, token, intended_at, send_before_at, lookup_at,
                                       id_scope)
SELECT id, :step, :number, :position, :token, :now,
       :now + make_interval(secs => :send_within),
       :now + make_interval(secs => :send_within + :lookup_delay),
       :id_scope
FROM postino.jobs WHERE id = :job_id AND changes() = 1
ON CONFLICT (job_id, step, number) DO UPDATE SET token = intent.token
RETURNING job_id, step, position, number, intended_at, send_before_at, lookup_at;
SELECT NULL AS job_id, NULL AS step, NULL AS position, NULL AS number, NULL AS intended_at, NULL AS send_before_at,
       NULL AS lookup_at
FROM postino.witnesses, postino.database_state
WHERE postino.witnesses.id = :witness AND mark = :mark AND standing = 'open' AND era = :era AND pulse >= :pulse
      AND place = postino.locate()

-- name: save_step
-- Fenced by the token: a worker that lost the job saves nothing. A repeated step keeps the time when it was first asked
-- for.
UPDATE postino.jobs SET deadline_at = :now + make_interval(secs => :limit)
WHERE id = :job_id AND token = :token;
INSERT INTO postino.steps AS step (job_id, name, position, asked_at, done_at, result)
SELECT id, :name, :position, :now, CASE WHEN :done THEN :now END, :result
FROM postino.jobs WHERE id = :job_id AND token = :token
ON CONFLICT (job_id, name) DO UPDATE SET done_at = excluded.done_at, result = excluded.result
RETURNING name, position, asked_at, done_at, result

-- name: delete_step
-- Fenced by the token. Once something visible was sent, only the named step is deleted: the call was built on the
-- others.
DELETE FROM postino.steps
WHERE job_id = (SELECT id FROM postino.jobs WHERE id = :job_id AND token = :token AND (postino.steps.name = :name
  OR NOT may_be_live));
SELECT id FROM postino.jobs WHERE id = :job_id AND token = :token

-- name: raise_witnesses
-- Batches up to `entered` are complete now. Later ones are known to be lost, and only their witness can enter them: it
-- sends nothing and counts as absent until it has.
INSERT INTO postino.witnesses AS known (id, n, lost_from, seen_at)
VALUES (:witness, :n, nullif(:entered, :n), :now)
ON CONFLICT (id) DO UPDATE
SET n = max(known.n, excluded.n),
    lost_from = nullif(max(coalesce(known.lost_from, known.n), :entered), max(known.n, excluded.n)),
    signed = CASE
        WHEN max(coalesce(known.lost_from, known.n), :entered) >= max(known.n, excluded.n) THEN known.signed
        WHEN known.signed = 'absent' THEN 'absent'
    END,
    seen_at = CASE
        WHEN max(coalesce(known.lost_from, known.n), :entered) >= max(known.n, excluded.n) THEN known.seen_at
        ELSE excluded.seen_at
    END
WHERE known.n < excluded.n OR known.lost_from < :entered

-- name: insert_lost_intents
-- Intents that the database has lost, of jobs that it still has. They have no claim, so their job's id is their token.
INSERT INTO postino.intents (job_id, step, number, position, token, intended_at, send_before_at, lookup_at, id_scope)
SELECT id, :step, :number, :position, id, :intended_at, :send_before_at, :lookup_at, :id_scope
FROM postino.jobs WHERE id = :job_id
ON CONFLICT (job_id, step, number) DO NOTHING
RETURNING job_id, lookup_at

-- name: insert_lost_steps
-- A step that the backup was waiting for is done now: the call was built on it.
INSERT INTO postino.steps AS step (job_id, name, position, asked_at, done_at, result)
VALUES (:job_id, :name, :position, :asked_at, :done_at, :result)
ON CONFLICT (job_id, name) DO UPDATE SET done_at = excluded.done_at, result = excluded.result
WHERE step.done_at IS NULL

-- name: doubt_lost_jobs
-- As after a crash: the network is asked once the request can no longer arrive.
UPDATE postino.jobs
SET state = 'uncertain', may_be_live = 1, lookup_at = max(coalesce(lookup_at, ''), :lookup_at),
    run_at = max(coalesce(lookup_at, ''), :lookup_at, :now), claimed_by = NULL, claimed_at = NULL, token = NULL,
    deadline_at = NULL, dispatched_at = NULL, deferral_reason = :why
WHERE id = :job_id
RETURNING *
