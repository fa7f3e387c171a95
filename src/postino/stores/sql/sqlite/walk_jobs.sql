-- The newest first. At most :scan jobs are walked over, whatever fits: the last of them comes back too, because that is
-- where to go on.
WITH walked AS MATERIALIZED (
    SELECT * FROM (
        SELECT * FROM (SELECT id, state, type, channel, account, queue, parent_id FROM postino_jobs WHERE :live AND id < :before ORDER BY id DESC LIMIT :scan)
        UNION ALL
        SELECT * FROM (SELECT id, state, type, channel, account, queue, parent_id FROM postino_finished WHERE :ended AND id < :before AND NOT superseded ORDER BY id DESC LIMIT :scan)
        UNION ALL
        SELECT * FROM (SELECT id, state, type, channel, account, queue, parent_id FROM postino_kept WHERE :ended AND id < :before AND NOT superseded ORDER BY id DESC LIMIT :scan)
    ) ORDER BY id DESC LIMIT :scan
), judged AS (
    SELECT id, (json_array_length(:states) = 0 OR state IN (SELECT value FROM json_each(:states)))
        AND (:type IS NULL OR type = :type) AND (:channel IS NULL OR channel = :channel)
        AND (:account IS NULL OR account IS NOT NULL AND account = :account)
        AND (:queue IS NULL OR queue = :queue)
        AND (:parent_id IS NULL OR parent_id IS NOT NULL AND parent_id = :parent_id) AS fits
    FROM walked
)
SELECT id, fits, (SELECT count(*) FROM walked) AS walked
FROM judged
WHERE fits OR id = (SELECT id FROM walked ORDER BY id LIMIT 1)
ORDER BY id DESC
