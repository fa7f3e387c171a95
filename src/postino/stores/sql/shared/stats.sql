-- name: list_brands
-- Steps from one brand to the next through the index instead of reading every row.
WITH RECURSIVE unfinished (brand) AS (
    SELECT min(brand) FROM postino.jobs WHERE brand IS NOT NULL
    UNION ALL
    SELECT (SELECT min(brand) FROM postino.jobs WHERE brand > unfinished.brand) FROM unfinished WHERE unfinished.brand IS NOT NULL
), past (brand) AS (
    SELECT min(brand) FROM postino.finished_jobs WHERE brand IS NOT NULL AND NOT superseded
    UNION ALL
    SELECT (SELECT min(brand) FROM postino.finished_jobs WHERE brand > past.brand AND NOT superseded) FROM past
      WHERE past.brand IS NOT NULL
)
SELECT brand FROM unfinished WHERE brand IS NOT NULL UNION SELECT brand FROM past WHERE brand IS NOT NULL ORDER BY brand

-- name: find_brands
SELECT id, brand FROM postino.stored_jobs WHERE id = ANY (:ids::uuid[])
