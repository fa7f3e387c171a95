-- Each line gives its share, oldest first. The ids go through an array so that the planner, who cannot know how few
-- they are, keeps to the primary key. The look that chose the lines is a moment old: those closed since give nothing,
-- nor do capped ones, unless they were counted under their lock.
WITH line AS (
    SELECT * FROM unnest(:channel::text[], :share::int[], :since_at::timestamptz[]) AS l (channel, share, since_at)
    WHERE NOT EXISTS (
        SELECT FROM postino.gates WHERE scope = 'channel' AND name = l.channel AND until_at > coalesce(:now::timestamptz, now())
        UNION ALL
        SELECT FROM postino.gates WHERE scope = 'queue' AND name = :queue_name AND until_at > coalesce(:now::timestamptz, now())
        UNION ALL
        SELECT FROM postino.gates WHERE scope = 'all' AND until_at > coalesce(:now::timestamptz, now())
    ) AND (l.channel = ANY (:counted::text[]) OR NOT EXISTS (
        SELECT FROM postino.caps WHERE channel = l.channel AND coalesce(most, usual) IS NOT NULL
        UNION ALL
        SELECT FROM postino.circuits WHERE service = l.channel AND state <> 'closed'
    ))
), chosen AS (
    SELECT job.id
    FROM line
    CROSS JOIN LATERAL (
        SELECT id FROM postino.jobs
        WHERE channel = line.channel AND queue = :queue AND state <> 'running' AND run_at IS NOT NULL AND lane IS NULL
          AND run_at >= line.since_at AND run_at <= coalesce(:now::timestamptz, now())
        ORDER BY run_at
        LIMIT line.share
        FOR UPDATE SKIP LOCKED
    ) AS job
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
