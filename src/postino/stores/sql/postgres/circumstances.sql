-- What is around one job, or around one that there might be, but for what every claim knows: the gates of its account,
-- what its lane is taken by, what may be under way on its channel, how many are due before it, and who works.
SELECT 'gate' AS kind, name, until_at AS due_at, row_to_json(gate)::text AS detail, NULL::bigint AS amount
FROM postino.gates AS gate
WHERE scope = 'account' AND name = :account AND until_at > coalesce(:now::timestamptz, now())
UNION ALL
SELECT 'busy', id::text, claimed_at, claimed_by, NULL FROM postino.jobs
WHERE channel = :channel AND lane = :lane AND state = 'running' AND account IS NOT NULL
UNION ALL
SELECT 'doubt', lane, look_at, coalesce(brand, ''), NULL FROM postino.jobs
WHERE id <> :id::uuid AND state = 'uncertain' AND channel = :channel AND look_at > coalesce(:now::timestamptz, now())
UNION ALL
SELECT 'ahead', NULL, NULL, NULL, count(*) FROM (
    SELECT FROM postino.jobs
    WHERE NOT :begun AND channel = :channel AND lane = :lane AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL
      AND NOT sent AND NOT regardless AND run_at <= coalesce(:now::timestamptz, now())
      AND (queue, run_at, id) < (:queue::int, :run_at::timestamptz, :id::uuid)
    UNION ALL
    SELECT FROM postino.jobs
    WHERE channel = :channel AND lane = :lane AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL
      AND (sent OR regardless) AND run_at <= coalesce(:now::timestamptz, now())
      AND (NOT :begun OR (run_at, id) < (:run_at::timestamptz, :id::uuid))
    UNION ALL
    SELECT FROM postino.jobs
    WHERE :lane::text IS NULL AND channel = :channel AND state <> 'running' AND run_at IS NOT NULL AND lane IS NULL
      AND run_at <= coalesce(:now::timestamptz, now())
      AND (queue, run_at, id) < (:queue::int, :run_at::timestamptz, :id::uuid)
    LIMIT :most_ahead
) AS before
UNION ALL
SELECT 'worker', id, NULL, host, pid FROM postino.workers
UNION ALL
SELECT 'until', NULL, publish_until_at, NULL, NULL FROM postino.posts WHERE id = :id
