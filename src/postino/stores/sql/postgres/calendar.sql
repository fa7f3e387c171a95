-- The first posts of each day that is asked for, by time. (Those without a brand come in by the first way only.)
SELECT wanted.day, found.id, found.scheduled_at
FROM unnest(:day::int[], :from_at::timestamptz[], :to_at::timestamptz[], :brand::text[]) AS wanted (day, from_at, to_at, brand)
CROSS JOIN LATERAL (
    (SELECT id, scheduled_at FROM postino.posts
     WHERE wanted.brand IS NULL AND scheduled_at >= wanted.from_at AND scheduled_at < wanted.to_at
     ORDER BY scheduled_at, id LIMIT :limit)
    UNION ALL
    (SELECT id, scheduled_at FROM postino.posts
     WHERE brand = wanted.brand AND scheduled_at >= wanted.from_at AND scheduled_at < wanted.to_at
     ORDER BY scheduled_at, id LIMIT :limit)
) AS found
