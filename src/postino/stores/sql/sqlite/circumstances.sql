-- What is around one job, or around one that there might be, but for what every claim knows: the gates of its account,
-- what its lane is taken by, what may be under way on its channel, how many are due before it, and who works.
SELECT 'gate' AS kind, name, until_at AS due_at,
       json_object('scope', scope, 'name', name, 'kind', kind, 'since_at', since_at, 'until_at', until_at, 'reason', reason) AS detail,
       NULL AS amount
FROM postino_gates
WHERE scope = 'account' AND name = :account AND until_at > :now
UNION ALL
SELECT 'busy', id, claimed_at, claimed_by, NULL FROM postino_jobs
WHERE channel = :channel AND lane = :lane AND state = 'running' AND account IS NOT NULL
UNION ALL
SELECT 'doubt', lane, look_at, coalesce(brand, ''), NULL FROM postino_jobs
WHERE id <> :id AND state = 'uncertain' AND channel = :channel AND look_at > :now
UNION ALL
SELECT 'ahead', NULL, NULL, NULL, count(*) FROM (
    SELECT 1 FROM postino_jobs
    WHERE NOT :begun AND channel = :channel AND lane = :lane AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL
      AND NOT sent AND NOT regardless AND run_at <= :now AND (queue, run_at, id) < (:queue, :run_at, :id)
    UNION ALL
    SELECT 1 FROM postino_jobs
    WHERE channel = :channel AND lane = :lane AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL
      AND (sent OR regardless) AND run_at <= :now AND (NOT :begun OR (run_at, id) < (:run_at, :id))
    UNION ALL
    SELECT 1 FROM postino_jobs
    WHERE :lane IS NULL AND channel = :channel AND state <> 'running' AND run_at IS NOT NULL AND lane IS NULL
      AND run_at <= :now AND (queue, run_at, id) < (:queue, :run_at, :id)
    LIMIT :most_ahead
)
UNION ALL
SELECT 'worker', id, NULL, host, pid FROM postino_workers
UNION ALL
SELECT 'until', NULL, publish_until_at, NULL, NULL FROM postino_posts WHERE id = :id
