-- Bounded before anything else is asked of them: of a busy day only the latest are looked at.
WITH latest AS MATERIALIZED (
    SELECT channel, state, brand, extract(epoch FROM finished_at - scheduled_at)::float8 AS late_by
    FROM postino.finished
    WHERE type = 'postino.post' AND finished_at >= :since_at
    ORDER BY finished_at DESC
    LIMIT :most
)
SELECT channel, state, late_by FROM latest
WHERE (:network::text IS NULL OR channel = :network) AND (:brands::text[] IS NULL OR brand = ANY (:brands))
