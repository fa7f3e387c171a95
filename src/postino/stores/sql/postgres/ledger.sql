-- name: insert_intents
-- Fenced by the token. From here on the network may have the post. Repeated after a lost response, it returns the same
-- intents. A pause that was committed before holds a job of which nothing may be live. One job may have two intents, and
-- PostgreSQL updates a row only once per statement: hence the aggregate. With a witness, the batch counts in its row, and
-- nothing is written unless the database is open and has all that the process knows of it. A row without a job says that
-- the batch was accepted.
WITH batch AS (
    UPDATE postino.witnesses SET n = :n::bigint + 1, mark = :mark, seen_at = :now
    WHERE id = :witness::text AND lost_from IS NULL
      AND (n = :n::bigint OR (n = :n::bigint + 1 AND mark = :mark::text))
      AND EXISTS (
          SELECT 1 FROM postino.database_state
          WHERE standing = 'open' AND era = :era::text AND pulse >= :pulse::bigint AND place = postino.locate()
      )
    RETURNING id
), input AS (
    SELECT * FROM unnest(:job_id::uuid[], :token::uuid[], :step::text[], :position::int[], :number::int[],
                         :send_within::float8[], :lookup_delay::float8[], :limit::float8[], :id_scope::text[])
        AS i (job_id, token, step, position, number, send_within, lookup_delay, seconds, id_scope)
    WHERE :witness::text IS NULL OR EXISTS (SELECT 1 FROM batch)
), request AS (
    SELECT job_id, token, max(send_within + lookup_delay) AS quarantine, max(seconds) AS seconds
    FROM input GROUP BY job_id, token
), held AS (
    UPDATE postino.jobs AS job
    SET may_be_live = true,
        lookup_at = greatest(job.lookup_at, :now + make_interval(secs => request.quarantine)),
        deadline_at = :now + make_interval(secs => request.seconds)
    FROM request
    WHERE job.id = request.job_id AND job.token = request.token
      AND ((job.may_be_live AND job.lane IS NOT NULL) OR NOT EXISTS (
          SELECT 1 FROM (VALUES ('all', ''), ('channel', job.channel), ('brand', job.brand), ('account', job.account),
              ('queue', CASE job.queue WHEN 0 THEN 'high' WHEN 1 THEN 'default' ELSE 'low' END)) AS closed (scope, name)
          JOIN postino.gates AS gate ON gate.scope = closed.scope AND gate.name = closed.name
          WHERE gate.kind = 'pause' AND gate.until_at > :now
      ))
    RETURNING request.job_id, request.token
), inserted AS (
    INSERT INTO postino.intents AS intent
        (job_id, step, number, position, token, intended_at, send_before_at, lookup_at, id_scope)
    SELECT job_id, step, number, position, token, :now,
           :now + make_interval(secs => send_within),
           :now + make_interval(secs => send_within + lookup_delay),
           id_scope
    FROM held JOIN input USING (job_id, token)
    ON CONFLICT (job_id, step, number) DO UPDATE SET token = intent.token
    RETURNING job_id, step, position, number, intended_at, send_before_at, lookup_at
)
SELECT job_id, step, position, number, intended_at, send_before_at, lookup_at FROM inserted
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM batch

-- name: save_step
-- Fenced by the token: a worker that lost the job saves nothing. A repeated step keeps the time when it was first asked
-- for.
WITH held AS (
    UPDATE postino.jobs SET deadline_at = :now + make_interval(secs => :limit::float8)
    WHERE id = :job_id AND token = :token
    RETURNING id
)
INSERT INTO postino.steps AS step (job_id, name, position, asked_at, done_at, result)
SELECT id, :name, :position, :now,
       CASE WHEN :done THEN :now END, :result
FROM held
ON CONFLICT (job_id, name) DO UPDATE SET done_at = excluded.done_at, result = excluded.result
RETURNING name, position, asked_at, done_at, result

-- name: delete_step
-- Fenced by the token. Once something visible was sent, only the named step is deleted: the call was built on the
-- others.
WITH held AS (
    SELECT id, may_be_live FROM postino.jobs WHERE id = :job_id AND token = :token FOR UPDATE
), deleted AS (
    DELETE FROM postino.steps USING held WHERE job_id = held.id AND (name = :name OR NOT held.may_be_live)
)
SELECT id FROM held

-- name: raise_witnesses
-- Batches up to `entered` are complete now. Later ones are known to be lost, and only their witness can enter them: it
-- sends nothing and counts as absent until it has.
INSERT INTO postino.witnesses AS known (id, n, lost_from, seen_at)
SELECT input.witness, input.n, nullif(input.entered, input.n), :now
FROM unnest(:witness::text[], :n::bigint[], :entered::bigint[]) AS input (witness, n, entered)
ON CONFLICT (id) DO UPDATE
SET n = greatest(known.n, excluded.n),
    lost_from = nullif(greatest(coalesce(known.lost_from, known.n), coalesce(excluded.lost_from, excluded.n)),
                       greatest(known.n, excluded.n)),
    signed = CASE
        WHEN greatest(coalesce(known.lost_from, known.n), coalesce(excluded.lost_from, excluded.n))
            >= greatest(known.n, excluded.n) THEN known.signed
        WHEN known.signed = 'absent' THEN 'absent'
    END,
    seen_at = CASE
        WHEN greatest(coalesce(known.lost_from, known.n), coalesce(excluded.lost_from, excluded.n))
            >= greatest(known.n, excluded.n) THEN known.seen_at
        ELSE excluded.seen_at
    END
WHERE known.n < excluded.n OR known.lost_from < coalesce(excluded.lost_from, excluded.n)

-- name: insert_lost_intents
-- Intents that the database has lost, of jobs that it still has. They have no claim, so their job's id is their token.
INSERT INTO postino.intents (job_id, step, number, position, token, intended_at, send_before_at, lookup_at, id_scope)
SELECT input.job_id, input.step, input.number, input.position, input.job_id, input.intended_at, input.send_before_at,
       input.lookup_at, input.id_scope
FROM unnest(:job_id::uuid[], :step::text[], :number::int[], :position::int[], :intended_at::timestamptz[],
            :send_before_at::timestamptz[], :lookup_at::timestamptz[], :id_scope::text[])
    AS input (job_id, step, number, position, intended_at, send_before_at, lookup_at, id_scope)
JOIN postino.jobs AS job ON job.id = input.job_id
ON CONFLICT (job_id, step, number) DO NOTHING
RETURNING job_id, lookup_at

-- name: insert_lost_steps
-- A step that the backup was waiting for is done now: the call was built on it.
INSERT INTO postino.steps AS step (job_id, name, position, asked_at, done_at, result)
SELECT input.job_id, input.name, input.position, input.asked_at, input.done_at, input.result
FROM unnest(:job_id::uuid[], :name::text[], :position::int[], :asked_at::timestamptz[], :done_at::timestamptz[],
            :result::text[]) AS input (job_id, name, position, asked_at, done_at, result)
ON CONFLICT (job_id, name) DO UPDATE SET done_at = excluded.done_at, result = excluded.result
WHERE step.done_at IS NULL

-- name: doubt_lost_jobs
-- As after a crash: the network is asked once the request can no longer arrive.
WITH input AS (
    SELECT job_id, max(lookup_at) AS lookup_at
    FROM unnest(:job_id::uuid[], :lookup_at::timestamptz[]) AS i (job_id, lookup_at) GROUP BY job_id
)
UPDATE postino.jobs AS job
SET state = 'uncertain', may_be_live = true, lookup_at = greatest(job.lookup_at, input.lookup_at),
    run_at = greatest(job.lookup_at, input.lookup_at, :now), claimed_by = NULL, claimed_at = NULL, token = NULL,
    deadline_at = NULL, dispatched_at = NULL, deferral_reason = :why
FROM input WHERE job.id = input.job_id
RETURNING job.*
