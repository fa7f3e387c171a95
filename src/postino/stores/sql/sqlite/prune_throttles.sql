DELETE FROM postino_throttles WHERE subject IN (
    SELECT subject FROM postino_throttles WHERE last_at < :before_at ORDER BY last_at LIMIT 100
)
