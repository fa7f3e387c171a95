WITH latest AS MATERIALIZED (
    SELECT id, cause, channel, type, brand, substr(coalesce(last_error, ''), 1, 300) AS error, died_at FROM postino_dead_letters
    WHERE resolved_at IS NULL
    ORDER BY id DESC
    LIMIT :most
)
SELECT cause, channel, type, error, letters, first_at, substr(newest, 1, 27) AS last_at, substr(newest, 29) AS example
FROM (
    SELECT cause, channel, type, error, count(*) AS letters, min(died_at) AS first_at, max(died_at || ' ' || id) AS newest
    FROM latest
    WHERE :brands IS NULL OR brand IN (SELECT value FROM json_each(:brands))
    GROUP BY cause, channel, type, error
)
