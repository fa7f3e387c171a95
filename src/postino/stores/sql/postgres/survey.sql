-- Everything an idle worker needs, in one round trip. `since_at` is where its last claims of a line ended: entries
-- before it are dead, and a long-open transaction would keep them in the way of every look.
WITH beat AS (
    UPDATE postino.workers SET beats = beats + 1 WHERE id = :worker AND :beat RETURNING id, beats
), line AS (
    SELECT known.channel, queue.queue, coalesce(mark.since_at, '-infinity') AS since_at
    FROM (SELECT DISTINCT channel FROM postino.channels) AS known
    CROSS JOIN generate_series(0, 2) AS queue (queue)
    LEFT JOIN unnest(:mark_channel::text[], :mark_queue::smallint[], :mark_since_at::timestamptz[])
        AS mark (channel, queue, since_at) ON mark.channel = known.channel AND mark.queue = queue.queue
)
SELECT 'clock' AS kind, NULL AS name, NULL::int AS queue, coalesce(:now::timestamptz, now()) AS due_at, NULL::text AS detail,
       NULL::bigint AS amount
UNION ALL
SELECT 'bulk', line.channel, line.queue, head.run_at, NULL, NULL
FROM line
CROSS JOIN LATERAL (
    SELECT run_at FROM postino.jobs
    WHERE channel = line.channel AND queue = line.queue AND state <> 'running' AND run_at IS NOT NULL AND lane IS NULL AND run_at >= line.since_at
    ORDER BY run_at LIMIT 1
) AS head
UNION ALL
SELECT 'lanes', line.channel, line.queue, head.due_at, NULL, NULL
FROM line
CROSS JOIN LATERAL (
    SELECT due_at FROM postino.lane_due
    WHERE channel = line.channel AND queue = line.queue
    ORDER BY due_at LIMIT 1
) AS head
UNION ALL
SELECT 'begun', known.channel, 0, head.run_at, NULL, NULL
FROM (SELECT DISTINCT channel FROM postino.channels) AS known
CROSS JOIN LATERAL (
    SELECT run_at FROM postino.jobs
    WHERE channel = known.channel AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND (sent OR regardless)
    ORDER BY run_at LIMIT 1
) AS head
UNION ALL
SELECT 'hint', NULL, NULL, NULL, NULL, NULL WHERE EXISTS (SELECT FROM postino.lane_hints)
UNION ALL
SELECT 'orphan', NULL, NULL, NULL, NULL, NULL
WHERE :beat AND EXISTS (
    SELECT FROM postino.jobs AS job
    WHERE state = 'running' AND (
        deadline_at < coalesce(:now::timestamptz, now())
        OR NOT EXISTS (SELECT FROM postino.workers AS worker WHERE worker.id = job.claimed_by)
    )
)
UNION ALL
SELECT 'held', id::text, NULL, NULL, token::text, NULL FROM postino.jobs
WHERE :beat AND state = 'running' AND claimed_by = :worker
UNION ALL
SELECT 'gate', name, NULL, until_at, row_to_json(gate)::text, NULL FROM postino.gates AS gate
WHERE scope IN ('all', 'queue', 'channel', 'brand') AND until_at > coalesce(:now::timestamptz, now())
UNION ALL
SELECT 'blackout', id::text, NULL, NULL, told, NULL FROM postino.blackouts
UNION ALL
SELECT 'breaker', service, NULL, until_at, row_to_json(circuit)::text, NULL FROM postino.circuits AS circuit
WHERE state <> 'closed' OR failures <> '[]'
UNION ALL
SELECT 'cap', channel, NULL, NULL, NULL, coalesce(most, usual) FROM postino.caps WHERE coalesce(most, usual) IS NOT NULL
UNION ALL
SELECT 'worker', id, NULL, NULL, NULL, beats FROM postino.workers
-- Buried while its beat waited: its old row is still in this statement's sight, but its beat did not count.
WHERE id NOT IN (SELECT id FROM beat) AND (:beat AND id = :worker) IS NOT TRUE
UNION ALL
SELECT 'worker', id, NULL, NULL, NULL, beats FROM beat
