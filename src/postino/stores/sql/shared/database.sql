-- name: lock_database_state
-- Serialises every change of the database's standing.
SELECT installation, era, place, pulse, alive_at, answered_pulse, standing, cause, reason, since_at,
       postino.locate() AS here, :now AS now_at
FROM postino.database_state WHERE id = 1 FOR UPDATE

-- name: read_database_state
SELECT installation, era, place, pulse, alive_at, answered_pulse, standing, cause, reason, since_at,
       postino.locate() AS here, :now AS now_at
FROM postino.database_state WHERE id = 1

-- name: list_witnesses
-- A process that vouches for the database touches its row every 30 seconds. The rows of those that do not live are many
-- where each process takes a new id. The trouble is that of processes that live.
SELECT id AS witness, n, lost_from, mark, seen_at,
       CASE WHEN seen_at >= :now - make_interval(secs => 120) THEN trouble END AS trouble
FROM postino.witnesses WHERE id = ANY (:witnesses::text[]) OR seen_at >= :since_at::timestamptz ORDER BY id

-- name: read_schema_time
-- It identifies a database and all its copies and backups, before any worker has used it.
SELECT applied_at AS created_at FROM postino.migrations WHERE number = 1

-- name: list_eras
SELECT era FROM postino.database_eras

-- name: insert_era
INSERT INTO postino.database_eras (era, ended_at) VALUES (:era, :now) ON CONFLICT DO NOTHING

-- name: adopt_database
-- No worker has used the database yet. Without jobs it is no backup from which anything could be published twice.
UPDATE postino.database_state
SET installation = :installation, era = :era, place = :here, alive_at = :now, answered_pulse = pulse
WHERE id = 1 AND installation IS NULL AND standing = 'open' AND coalesce(place, '') = coalesce(:place, '')
  AND postino.locate() = :here AND (:is_there OR NOT EXISTS (SELECT 1 FROM postino.jobs))
RETURNING era

-- name: locate_unused_database
-- From the first job on, a backup that is put back is recognised because it is another file or has other tables.
UPDATE postino.database_state SET place = postino.locate()
WHERE id = 1 AND installation IS NULL AND standing = 'open' AND coalesce(place, '') <> postino.locate()
  AND NOT EXISTS (SELECT 1 FROM postino.jobs)

-- name: record_pulse
-- Only by a process that vouches for the database. One of them is enough.
UPDATE postino.database_state SET pulse = pulse + 1, alive_at = :now
WHERE id = 1 AND pulse = :pulse AND era = :era AND standing = 'open'
RETURNING pulse

-- name: set_standing
UPDATE postino.database_state
SET standing = :standing, cause = :cause, reason = :reason,
    since_at = CASE WHEN :standing = 'open' THEN NULL ELSE coalesce(since_at, :now) END
WHERE id = 1

-- name: save_answer
UPDATE postino.database_state
SET installation = :installation, era = :era, place = postino.locate(), standing = :standing, cause = NULL,
    reason = :reason, since_at = CASE WHEN :standing = 'open' THEN NULL ELSE :now END, alive_at = :now,
    answered_pulse = pulse
WHERE id = 1

-- name: raise_pulse
UPDATE postino.database_state SET pulse = :pulse WHERE id = 1 AND pulse < :pulse

-- name: insert_witness
INSERT INTO postino.witnesses (id, n, seen_at) VALUES (:witness, :n, :now) ON CONFLICT (id) DO NOTHING

-- name: touch_witness
UPDATE postino.witnesses SET seen_at = :now, trouble = :trouble, signed = nullif(signed, 'off') WHERE id = :witness

-- name: end_absence
-- These processes have returned, and all that they sent is in the database.
UPDATE postino.witnesses SET signed = NULL
WHERE id = ANY (:witnesses::text[]) AND signed = 'absent' AND lost_from IS NULL
RETURNING id

-- name: list_awaited_witnesses
SELECT id AS witness FROM postino.witnesses WHERE signed = 'absent' LIMIT 1

-- name: forget_absences
UPDATE postino.witnesses SET signed = NULL WHERE signed = 'absent'

-- name: sign_off
-- A process that ends has committed its last intents before this, so a standby that has this row has them, too.
UPDATE postino.witnesses SET signed = 'off'
WHERE id = :witness AND n = :n AND lost_from IS NULL AND EXISTS (
    SELECT 1 FROM postino.database_state WHERE standing = 'open' AND era = :era AND pulse >= :pulse
)

-- name: prune_witnesses
-- Of processes that have not lived for so long. One that has sent nothing is not missed.
DELETE FROM postino.witnesses
WHERE coalesce(signed, '') <> 'absent' AND (
    seen_at < :now - make_interval(days => :days)
    OR (n = 0 AND seen_at < :now - make_interval(secs => :silent_seconds))
)

-- name: insert_suspicions
-- The database does not know whether these posts were sent since. Jobs with a call in doubt are left out: a lookup
-- answers for them. A post that a person has postponed since counts as due: it may have been sent at its former time.
INSERT INTO postino.intents (job_id, step, number, position, token, intended_at, send_before_at, lookup_at, id_scope)
SELECT suspect.id, suspect.step,
       1 + (SELECT count(*) FROM postino.intents AS known WHERE known.job_id = suspect.id AND known.step = suspect.step),
       -1, suspect.id, :since_at, :now, :now, ''
FROM (
    SELECT id, CASE WHEN scheduled_at <= :now
                      OR id IN (SELECT id FROM postino.posts WHERE postponed_at >= :since_at::timestamptz)
                    THEN :due ELSE :early END AS step
    FROM postino.jobs
    WHERE type = :type AND state IN ('pending', 'running') AND lookup_at IS NULL AND created_at <= :created_to_at
      AND (scheduled_at <= :due_to_at
        OR id IN (SELECT id FROM postino.posts WHERE postponed_at >= :since_at::timestamptz))
) AS suspect

-- name: list_early_posts
SELECT * FROM postino.jobs
WHERE type = :type AND state IN ('pending', 'running') AND lookup_at IS NULL AND scheduled_at > :now
  AND scheduled_at <= :due_to_at AND created_at <= :created_to_at
  AND id NOT IN (SELECT id FROM postino.posts WHERE postponed_at >= :since_at::timestamptz)

-- name: doubt_due_posts
-- As after a crash: the network is asked before anything is sent.
UPDATE postino.jobs
SET state = 'uncertain', may_be_live = true, lookup_at = :now, run_at = :now, deferral_reason = :why, claimed_by = NULL,
    claimed_at = NULL, token = NULL, deadline_at = NULL, dispatched_at = NULL
WHERE type = :type AND state IN ('pending', 'running') AND lookup_at IS NULL AND created_at <= :created_to_at
  AND (scheduled_at <= :now OR id IN (SELECT id FROM postino.posts WHERE postponed_at >= :since_at::timestamptz))
RETURNING *

-- name: end_claims_in_doubt
-- The receipt of a call that a worker is making may be lost with the other history: the worker must not end the job.
UPDATE postino.jobs
SET state = 'uncertain', run_at = CASE WHEN lookup_at > :now THEN lookup_at ELSE :now END, claimed_by = NULL,
    claimed_at = NULL, token = NULL, deadline_at = NULL, dispatched_at = NULL
WHERE type = :type AND state = 'running' AND lookup_at IS NOT NULL

-- name: delete_suspicions
DELETE FROM postino.intents
WHERE step = :step AND NOT EXISTS (
    SELECT 1 FROM postino.receipts AS receipt
    WHERE receipt.job_id = postino.intents.job_id AND receipt.step = postino.intents.step
      AND receipt.number = postino.intents.number
)
RETURNING job_id

-- name: release_suspect
UPDATE postino.jobs
SET state = 'pending', may_be_live = :may_be_live, lookup_at = NULL, deferral_reason = NULL,
    run_at = CASE WHEN scheduled_at > :now THEN scheduled_at ELSE :now END,
    last_error = nullif(last_error, deferral_reason)
WHERE id = :id AND state = 'uncertain'
RETURNING id

-- name: renew_question
-- What is accepted from now on cannot be lost.
UPDATE postino.database_state SET since_at = :now WHERE id = 1 AND standing = 'asked'

-- name: begin_roll_call
UPDATE postino.database_state
SET standing = 'roll_call', place = postino.locate(), cause = NULL, reason = :reason, since_at = :now
WHERE id = 1

-- name: clear_signatures
UPDATE postino.witnesses SET signed = NULL WHERE signed NOT IN ('off', 'absent')

-- name: sign_roll
UPDATE postino.witnesses SET signed = :place, seen_at = :now WHERE id = :witness AND lost_from IS NULL

-- name: mark_absent_witnesses
-- Processes that worked when the pulse last changed, did not sign off, and have not checked the database since.
UPDATE postino.witnesses SET signed = 'absent'
WHERE seen_at >= :alive_at
  AND (signed IS NULL OR signed NOT IN ((SELECT place FROM postino.database_state WHERE id = 1), 'off', 'absent'))
RETURNING id AS witness
