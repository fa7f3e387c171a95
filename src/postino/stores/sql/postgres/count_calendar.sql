-- How many there are on each day, counted up to :most: what is beyond nobody reads on one page.
SELECT wanted.day, (
    SELECT count(*) FROM (
        (SELECT FROM postino.posts WHERE wanted.brand IS NULL AND scheduled_at >= wanted.from_at AND scheduled_at < wanted.to_at
         LIMIT :most)
        UNION ALL
        (SELECT FROM postino.posts WHERE brand = wanted.brand AND scheduled_at >= wanted.from_at AND scheduled_at < wanted.to_at
         LIMIT :most)
    ) AS counted
) AS posts
FROM unnest(:day::int[], :from_at::timestamptz[], :to_at::timestamptz[], :brand::text[]) AS wanted (day, from_at, to_at, brand)
