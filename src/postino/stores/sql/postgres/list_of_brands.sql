-- Brand by brand through the index, then together: a brand with few jobs among a million costs no walk over the others.
WITH page AS (
    SELECT one.id
    FROM (SELECT DISTINCT brand FROM unnest(:brands::text[]) AS given (brand)) AS wanted
    CROSS JOIN LATERAL (
    (SELECT id FROM postino.jobs WHERE
      brand = wanted.brand AND (cardinality(:states::text[]) = 0 OR state = ANY (:states::text[]))
      AND (:type::text IS NULL OR type = :type)
      AND (:channel::text IS NULL OR channel = :channel)
      AND (:account::text IS NULL OR account = :account)
      AND (:queue::int IS NULL OR queue = :queue)
      AND (:parent_id::uuid IS NULL OR parent_id = :parent_id)
      AND (:before::uuid IS NULL OR id < :before)
      AND :live::boolean
    ORDER BY id DESC LIMIT :limit)
    UNION ALL
    (SELECT id FROM postino.finished WHERE
      brand = wanted.brand AND (cardinality(:states::text[]) = 0 OR state = ANY (:states::text[]))
      AND (:type::text IS NULL OR type = :type)
      AND (:channel::text IS NULL OR channel = :channel)
      AND (:account::text IS NULL OR account = :account)
      AND (:queue::int IS NULL OR queue = :queue)
      AND (:parent_id::uuid IS NULL OR parent_id = :parent_id)
      AND (:before::uuid IS NULL OR id < :before)
      AND NOT superseded AND :ended::boolean
    ORDER BY id DESC LIMIT :limit)
    UNION ALL
    (SELECT id FROM postino.kept WHERE
      brand = wanted.brand AND (cardinality(:states::text[]) = 0 OR state = ANY (:states::text[]))
      AND (:type::text IS NULL OR type = :type)
      AND (:channel::text IS NULL OR channel = :channel)
      AND (:account::text IS NULL OR account = :account)
      AND (:queue::int IS NULL OR queue = :queue)
      AND (:parent_id::uuid IS NULL OR parent_id = :parent_id)
      AND (:before::uuid IS NULL OR id < :before)
      AND NOT superseded AND :ended::boolean
    ORDER BY id DESC LIMIT :limit)
    ) AS one
)
SELECT * FROM postino.stored_jobs
WHERE id = ANY (ARRAY (SELECT DISTINCT id FROM page ORDER BY id DESC LIMIT :limit))
ORDER BY id DESC
LIMIT :limit
