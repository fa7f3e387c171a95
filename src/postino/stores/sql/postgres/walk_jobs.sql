-- The newest first. At most :scan jobs are walked over, whatever fits: the last of them comes back too, because that is
-- where to go on.
WITH walked AS MATERIALIZED (
    SELECT * FROM (
        (SELECT id, state, type, channel, account, queue, parent_id FROM postino.jobs WHERE :live::boolean AND id < :before ORDER BY id DESC LIMIT :scan)
        UNION ALL
        (SELECT id, state, type, channel, account, queue, parent_id FROM postino.finished WHERE :ended::boolean AND id < :before AND NOT superseded ORDER BY id DESC LIMIT :scan)
        UNION ALL
        (SELECT id, state, type, channel, account, queue, parent_id FROM postino.kept WHERE :ended::boolean AND id < :before AND NOT superseded ORDER BY id DESC LIMIT :scan)
    ) AS every ORDER BY id DESC LIMIT :scan
), judged AS (
    SELECT id, (cardinality(:states::text[]) = 0 OR state = ANY (:states::text[]))
        AND (:type::text IS NULL OR type = :type) AND (:channel::text IS NULL OR channel = :channel)
        AND (:account::text IS NULL OR account IS NOT NULL AND account = :account)
        AND (:queue::int IS NULL OR queue = :queue)
        AND (:parent_id::uuid IS NULL OR parent_id IS NOT NULL AND parent_id = :parent_id) AS fits
    FROM walked
)
SELECT id, fits, (SELECT count(*) FROM walked) AS walked
FROM judged
WHERE fits OR id = (SELECT id FROM walked ORDER BY id LIMIT 1)
ORDER BY id DESC
