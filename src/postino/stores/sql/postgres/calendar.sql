-- The first posts of each day that is asked for, by time. (Those without a brand come in by the first way only.)
SELECT wanted.day, found.id, found.network, found.account, found.scheduled_at,
       CASE found.phase WHEN 'live' THEN job.state ELSE found.phase END AS state, content.text AS content
FROM unnest(:day::int[], :from_at::timestamptz[], :to_at::timestamptz[], :brand::text[]) AS wanted (day, from_at, to_at, brand)
CROSS JOIN LATERAL (
    (SELECT * FROM postino.posts WHERE wanted.brand IS NULL AND scheduled_at >= wanted.from_at AND scheduled_at < wanted.to_at
     ORDER BY scheduled_at, id LIMIT :limit)
    UNION ALL
    (SELECT * FROM postino.posts WHERE brand = wanted.brand AND scheduled_at >= wanted.from_at AND scheduled_at < wanted.to_at
     ORDER BY scheduled_at, id LIMIT :limit)
) AS found
JOIN postino.contents AS content ON content.id = found.content_id
LEFT JOIN postino.jobs AS job ON job.id = found.id
