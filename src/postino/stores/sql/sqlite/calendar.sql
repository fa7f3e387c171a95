-- The first posts of one day, by time. (Those without a brand come in by the first way only.)
SELECT * FROM (SELECT :day AS day, id, scheduled_at FROM postino_posts
               WHERE :brand IS NULL AND scheduled_at >= :from_at AND scheduled_at < :to_at
               ORDER BY scheduled_at, id LIMIT :limit)
UNION ALL
SELECT * FROM (SELECT :day AS day, id, scheduled_at FROM postino_posts
               WHERE brand = :brand AND scheduled_at >= :from_at AND scheduled_at < :to_at
               ORDER BY scheduled_at, id LIMIT :limit)
