-- The first posts of one day, by time. (Those without a brand come in by the first way only.)
SELECT :day AS day, found.id, found.network, found.account, found.scheduled_at,
       CASE found.phase WHEN 'live' THEN job.state ELSE found.phase END AS state, content.text AS content
FROM (
    SELECT * FROM (SELECT * FROM postino_posts WHERE :brand IS NULL AND scheduled_at >= :from_at AND scheduled_at < :to_at
                   ORDER BY scheduled_at, id LIMIT :limit)
    UNION ALL
    SELECT * FROM (SELECT * FROM postino_posts WHERE brand = :brand AND scheduled_at >= :from_at AND scheduled_at < :to_at
                   ORDER BY scheduled_at, id LIMIT :limit)
) AS found
JOIN postino_contents AS content ON content.id = found.content_id
LEFT JOIN postino_jobs AS job ON job.id = found.id
