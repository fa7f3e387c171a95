-- A page of each table through its index, then one of all: never a walk over what has finished.
WITH page AS (
    (SELECT id FROM postino.jobs WHERE
      (cardinality(:states::text[]) = 0 OR state = ANY (:states::text[]))
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
      (cardinality(:states::text[]) = 0 OR state = ANY (:states::text[]))
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
      (cardinality(:states::text[]) = 0 OR state = ANY (:states::text[]))
      AND (:type::text IS NULL OR type = :type)
      AND (:channel::text IS NULL OR channel = :channel)
      AND (:account::text IS NULL OR account = :account)
      AND (:queue::int IS NULL OR queue = :queue)
      AND (:parent_id::uuid IS NULL OR parent_id = :parent_id)
      AND (:before::uuid IS NULL OR id < :before)
      AND NOT superseded AND :ended::boolean
    ORDER BY id DESC LIMIT :limit)
)
SELECT * FROM postino.stored_jobs
WHERE id = ANY (ARRAY (SELECT DISTINCT id FROM page ORDER BY id DESC LIMIT :limit))
ORDER BY id DESC
LIMIT :limit
