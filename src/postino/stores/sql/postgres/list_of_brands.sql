-- Brand by brand through the index, then together: a brand with few jobs among a million costs no walk over the others.
SELECT job.*
FROM (SELECT DISTINCT brand FROM unnest(:brands::text[]) AS given (brand)) AS wanted
CROSS JOIN LATERAL (
    SELECT * FROM postino.stored_jobs AS stored
    WHERE stored.brand = wanted.brand
      AND (cardinality(:states::text[]) = 0 OR state = ANY (:states::text[]))
      AND (:type::text IS NULL OR type = :type)
      AND (:channel::text IS NULL OR channel = :channel)
      AND (:account::text IS NULL OR account = :account)
      AND (:queue::text IS NULL OR queue = :queue)
      AND (:parent_id::uuid IS NULL OR parent_id = :parent_id)
      AND (:before::uuid IS NULL OR id < :before)
    ORDER BY id DESC
    LIMIT :limit
) AS job
ORDER BY job.id DESC
LIMIT :limit
