-- A page of each table through its index, then one of all: never a walk over what has finished.
WITH page AS MATERIALIZED (
    SELECT id FROM (SELECT id FROM postino_jobs WHERE
      brand IN (SELECT value FROM json_each(:brands)) AND brand IS NOT NULL AND
      (json_array_length(:states) = 0 OR state IN (SELECT value FROM json_each(:states)))
      AND (:type IS NULL OR type = :type)
      AND (:channel IS NULL OR channel = :channel)
      AND (:account IS NULL OR account = :account)
      AND (:queue IS NULL OR queue = :queue)
      AND (:parent_id IS NULL OR parent_id = :parent_id)
      AND (:before IS NULL OR id < :before)
      AND :live
    ORDER BY id DESC LIMIT :limit)
    UNION
    SELECT id FROM (SELECT id FROM postino_finished WHERE
      brand IN (SELECT value FROM json_each(:brands)) AND brand IS NOT NULL AND
      (json_array_length(:states) = 0 OR state IN (SELECT value FROM json_each(:states)))
      AND (:type IS NULL OR type = :type)
      AND (:channel IS NULL OR channel = :channel)
      AND (:account IS NULL OR account = :account)
      AND (:queue IS NULL OR queue = :queue)
      AND (:parent_id IS NULL OR parent_id = :parent_id)
      AND (:before IS NULL OR id < :before)
      AND NOT superseded AND :ended
    ORDER BY id DESC LIMIT :limit)
    UNION
    SELECT id FROM (SELECT id FROM postino_kept WHERE
      brand IN (SELECT value FROM json_each(:brands)) AND brand IS NOT NULL AND
      (json_array_length(:states) = 0 OR state IN (SELECT value FROM json_each(:states)))
      AND (:type IS NULL OR type = :type)
      AND (:channel IS NULL OR channel = :channel)
      AND (:account IS NULL OR account = :account)
      AND (:queue IS NULL OR queue = :queue)
      AND (:parent_id IS NULL OR parent_id = :parent_id)
      AND (:before IS NULL OR id < :before)
      AND NOT superseded AND :ended
    ORDER BY id DESC LIMIT :limit)
)
SELECT * FROM postino_stored_jobs
WHERE id IN (SELECT id FROM page ORDER BY id DESC LIMIT :limit)
ORDER BY id DESC
LIMIT :limit
