-- The first of what each locked lane has begun to send, while none of its jobs runs.
WITH line AS (
    SELECT * FROM unnest(:channel::text[], :lane::text[]) AS l (channel, lane)
), chosen AS (
    SELECT job.id
    FROM line
    CROSS JOIN LATERAL (
        SELECT id FROM postino.jobs
        WHERE channel = line.channel AND lane = line.lane AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND (sent OR regardless)
          AND run_at <= coalesce(:now::timestamptz, now())
        ORDER BY run_at, id
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS job
    WHERE NOT EXISTS (
        SELECT FROM postino.jobs AS busy
        WHERE busy.channel = line.channel AND busy.lane = line.lane AND busy.state = 'running' AND busy.account IS NOT NULL
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
