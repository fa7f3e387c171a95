DELETE FROM postino.throttles WHERE subject IN (
    SELECT subject FROM postino.throttles WHERE last_at < :before_at ORDER BY last_at LIMIT 100
)
