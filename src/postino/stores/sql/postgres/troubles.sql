WITH latest AS MATERIALIZED (
    SELECT id, cause, channel, type, brand, left(coalesce(last_error, ''), 300) AS error, died_at FROM postino.dead_letters
    WHERE resolved_at IS NULL
    ORDER BY id DESC
    LIMIT :most
)
SELECT cause, channel, type, error, count(*)::int AS letters, min(died_at) AS first_at, max(died_at) AS last_at,
    (array_agg(id ORDER BY died_at DESC, id DESC))[1] AS example
FROM latest
WHERE :brands::text[] IS NULL OR brand = ANY (:brands)
GROUP BY cause, channel, type, error
