-- Of what is running or uncertain there is never much: all of it through its own index, then the newest.
WITH busy AS MATERIALIZED (
    SELECT id, brand, type, channel, account, queue, parent_id FROM postino_jobs INDEXED BY postino_jobs_running
    WHERE state = 'running' AND 'running' IN (SELECT value FROM json_each(:states))
    UNION ALL
    SELECT id, brand, type, channel, account, queue, parent_id FROM postino_jobs INDEXED BY postino_jobs_uncertain
    WHERE state = 'uncertain' AND 'uncertain' IN (SELECT value FROM json_each(:states))
)
SELECT * FROM postino_stored_jobs
WHERE id IN (
    SELECT id FROM busy WHERE
      (:brands IS NULL OR brand IN (SELECT value FROM json_each(:brands)))
      AND (:type IS NULL OR type = :type)
      AND (:channel IS NULL OR channel = :channel)
      AND (:account IS NULL OR account = :account)
      AND (:queue IS NULL OR queue = :queue)
      AND (:parent_id IS NULL OR parent_id = :parent_id)
      AND (:before IS NULL OR id < :before)
    ORDER BY id DESC LIMIT :limit
)
ORDER BY id DESC
