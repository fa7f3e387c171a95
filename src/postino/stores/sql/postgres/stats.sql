-- name: count_posts_by_brand
-- At most :most jobs per table and brand, the newest.
SELECT input.brand, job.state, count(*)::int AS posts
FROM unnest(:brands::text[]) AS input (brand)
CROSS JOIN LATERAL (
    (SELECT state FROM postino.jobs AS unfinished
     WHERE unfinished.brand = input.brand AND unfinished.type = 'postino.post' ORDER BY unfinished.id DESC LIMIT :most)
    UNION ALL
    (SELECT state FROM postino.finished_jobs AS past
     WHERE past.brand = input.brand AND past.type = 'postino.post' AND NOT past.superseded
     ORDER BY past.id DESC LIMIT :most)
) AS job
GROUP BY input.brand, job.state
ORDER BY input.brand, job.state

-- name: list_finished_posts
-- Limited before it is filtered: of a busy day only the latest posts are read.
WITH latest AS MATERIALIZED (
    SELECT channel, state, brand, extract(epoch FROM finished_at - scheduled_at)::float8 AS late_by
    FROM postino.finished_jobs
    WHERE type = 'postino.post' AND finished_at >= :since_at
    ORDER BY finished_at DESC
    LIMIT :most
)
SELECT channel, state, late_by FROM latest
WHERE (:network::text IS NULL OR channel = :network) AND (:brands::text[] IS NULL OR brand = ANY (:brands))

-- name: group_dead_letters
WITH latest AS MATERIALIZED (
    SELECT id, cause, channel, type, brand, left(coalesce(last_error, ''), 300) AS error, died_at
      FROM postino.dead_letters
    WHERE resolved_at IS NULL
    ORDER BY id DESC
    LIMIT :most
)
SELECT cause, channel, type, error, count(*)::int AS letters, min(died_at) AS first_at, max(died_at) AS last_at,
    (array_agg(id ORDER BY died_at DESC, id DESC))[1] AS example
FROM latest
WHERE :brands::text[] IS NULL OR brand = ANY (:brands)
GROUP BY cause, channel, type, error
