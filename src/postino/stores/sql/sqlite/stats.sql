-- name: count_posts_by_brand
-- At most :most jobs per table and brand, the newest.
SELECT input.value AS brand, one.value AS state, count(*) AS posts
FROM json_each(:brands) AS input
JOIN json_each((
    SELECT json_group_array(state) FROM (
        SELECT state FROM (
            SELECT unfinished.state AS state FROM postino.jobs AS unfinished
            WHERE unfinished.brand = input.value AND unfinished.type = 'postino.post' ORDER BY unfinished.id DESC LIMIT :most
        )
        UNION ALL
        SELECT state FROM (
            SELECT past.state AS state FROM postino.finished_jobs AS past
            WHERE past.brand = input.value AND past.brand IS NOT NULL AND NOT past.superseded
              AND past.type = 'postino.post'
            ORDER BY past.id DESC LIMIT :most
        )
    )
)) AS one
GROUP BY 1, 2
ORDER BY 1, 2

-- name: list_finished_posts
-- Limited before it is filtered: of a busy day only the latest posts are read.
WITH latest AS MATERIALIZED (
    SELECT channel, state, brand, (julianday(finished_at) - julianday(scheduled_at)) * 86400.0 AS late_by
    FROM postino.finished_jobs
    WHERE type = 'postino.post' AND finished_at >= :since_at
    ORDER BY finished_at DESC
    LIMIT :most
)
SELECT channel, state, late_by FROM latest
WHERE (:network IS NULL OR channel = :network) AND (:brands IS NULL OR brand = ANY (:brands))

-- name: group_dead_letters
WITH latest AS MATERIALIZED (
    SELECT id, cause, channel, type, brand, substr(coalesce(last_error, ''), 1, 300) AS error, died_at
      FROM postino.dead_letters
    WHERE resolved_at IS NULL
    ORDER BY id DESC
    LIMIT :most
)
SELECT cause, channel, type, error, letters, first_at, substr(newest, 1, 27) AS last_at, substr(newest, 29) AS example
FROM (
    SELECT cause, channel, type, error, count(*) AS letters, min(died_at) AS first_at,
      max(died_at || ' ' || id) AS newest
    FROM latest
    WHERE :brands IS NULL OR brand = ANY (:brands)
    GROUP BY cause, channel, type, error
)
