-- How many there are on one day, counted up to :most: what is beyond nobody reads on one page.
SELECT :day AS day, (
    SELECT count(*) FROM (SELECT 1 FROM postino_posts WHERE :brand IS NULL AND scheduled_at >= :from_at AND scheduled_at < :to_at
                          LIMIT :most)
) + (
    SELECT count(*) FROM (SELECT 1 FROM postino_posts WHERE brand = :brand AND scheduled_at >= :from_at AND scheduled_at < :to_at
                          LIMIT :most)
) AS posts
