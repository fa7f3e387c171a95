-- What was chosen of each locked lane, while none of its other jobs runs, or may still be under way.
WITH line AS (
    SELECT * FROM unnest(:channel::text[], :lane::text[], :id::uuid[]) AS l (channel, lane, id)
), chosen AS (
    SELECT job.id
    FROM line
    CROSS JOIN LATERAL (
        SELECT id FROM postino.jobs
        WHERE id = line.id AND state <> 'running' AND run_at <= coalesce(:now::timestamptz, now())
        FOR UPDATE SKIP LOCKED
    ) AS job
    WHERE NOT EXISTS (
        SELECT FROM postino.jobs AS busy
        WHERE busy.channel = line.channel AND busy.lane = line.lane AND busy.state = 'running' AND busy.account IS NOT NULL
    ) AND NOT EXISTS (
        SELECT FROM postino.jobs AS doubt
        WHERE doubt.channel = line.channel AND doubt.lane = line.lane AND doubt.state = 'uncertain' AND doubt.account IS NOT NULL
          AND doubt.look_at > coalesce(:now::timestamptz, now()) AND doubt.id <> line.id
    )
), taken AS (
    UPDATE postino.jobs
    SET state = 'running', claimed_by = :worker, claimed_at = coalesce(:now::timestamptz, now()), token = :token,
        attempts = attempts + 1, deferred = NULL,
        deadline_at = coalesce(:now::timestamptz, now()) + make_interval(secs => :grace + coalesce(time_limit,
            (:limits::jsonb ->> ('channel ' || channel))::float8, (:limits::jsonb ->> ('type ' || type))::float8,
            (:limits::jsonb ->> '')::float8))
    WHERE id = ANY (ARRAY (SELECT id FROM chosen)) AND EXISTS (SELECT FROM postino.workers WHERE id = :worker)
    RETURNING *
), told AS (
    INSERT INTO postino.events (at, type, data)
    SELECT coalesce(:now::timestamptz, now()), 'job.claimed', json_build_object('worker', :worker::text, 'jobs', json_agg(id))::text
    FROM taken HAVING count(*) > 0
)
SELECT * FROM taken
