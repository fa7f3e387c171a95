-- Bounded before anything else is asked of them: of a busy day only the latest are looked at.
WITH latest AS MATERIALIZED (
    SELECT channel, state, brand, (julianday(finished_at) - julianday(scheduled_at)) * 86400.0 AS late_by
    FROM postino_finished
    WHERE type = 'postino.post' AND finished_at >= :since_at
    ORDER BY finished_at DESC
    LIMIT :most
)
SELECT channel, state, late_by FROM latest
WHERE (:network IS NULL OR channel = :network) AND (:brands IS NULL OR brand IN (SELECT value FROM json_each(:brands)))
