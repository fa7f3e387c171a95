SELECT * FROM postino.stored_jobs
WHERE (cardinality(:states::text[]) = 0 OR state = ANY (:states::text[]))
  AND (:type::text IS NULL OR type = :type)
  AND (:channel::text IS NULL OR channel = :channel)
  AND (:account::text IS NULL OR account = :account)
  AND (:queue::text IS NULL OR queue = :queue)
  AND (:parent_id::uuid IS NULL OR parent_id = :parent_id)
  AND (:before::uuid IS NULL OR id < :before)
ORDER BY id DESC
LIMIT :limit
