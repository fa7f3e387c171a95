SELECT * FROM postino.dead_letters
WHERE (cardinality(:ids::uuid[]) = 0 OR id = ANY (:ids::uuid[]))
  AND (:type::text IS NULL OR type = :type)
  AND (:channel::text IS NULL OR channel = :channel)
  AND (:cause::text IS NULL OR cause = :cause)
  AND (:brands::text[] IS NULL OR brand = ANY (:brands))
  AND (:account::text IS NULL OR account = :account)
  AND (:resolved OR resolved_at IS NULL)
  AND (:before::uuid IS NULL OR id < :before)
ORDER BY id DESC, generation DESC
LIMIT :limit
