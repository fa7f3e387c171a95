-- Each line gives its share, oldest first. The ids go through an array so that the planner, who cannot know how few
-- they are, keeps to the primary key.
WITH line AS (
    SELECT * FROM unnest(:channel::text[], :share::int[], :since_at::timestamptz[]) AS l (channel, share, since_at)
), chosen AS (
    SELECT job.id
    FROM line
    CROSS JOIN LATERAL (
        SELECT id FROM postino.jobs
        WHERE channel = line.channel AND queue = :queue AND state = 'pending' AND lane IS NULL
          AND run_at >= line.since_at AND run_at <= coalesce(:now::timestamptz, now())
        ORDER BY run_at
        LIMIT line.share
        FOR UPDATE SKIP LOCKED
    ) AS job
)
UPDATE postino.jobs
SET state = 'running', claimed_by = :worker, claimed_at = coalesce(:now::timestamptz, now()), token = :token,
    attempts = attempts + 1, deferred = NULL
WHERE id = ANY (ARRAY (SELECT id FROM chosen)) AND EXISTS (SELECT FROM postino.workers WHERE id = :worker)
RETURNING *
