SELECT * FROM postino_dead_letters
WHERE (json_array_length(:ids) = 0 OR id IN (SELECT value FROM json_each(:ids)))
  AND (:type IS NULL OR type = :type)
  AND (:channel IS NULL OR channel = :channel)
  AND (:cause IS NULL OR cause = :cause)
  AND (:brands IS NULL OR brand IN (SELECT value FROM json_each(:brands)))
  AND (:account IS NULL OR account = :account)
  AND (:resolved OR resolved_at IS NULL)
  AND (:before IS NULL OR id < :before)
ORDER BY id DESC, generation DESC
LIMIT :limit
