SELECT * FROM postino_stored_jobs
WHERE (json_array_length(:states) = 0 OR state IN (SELECT value FROM json_each(:states)))
  AND (:type IS NULL OR type = :type)
  AND (:channel IS NULL OR channel = :channel)
  AND (:account IS NULL OR account = :account)
  AND (:queue IS NULL OR queue = :queue)
  AND (:parent_id IS NULL OR parent_id = :parent_id)
  AND (:before IS NULL OR id < :before)
ORDER BY id DESC
LIMIT :limit
