UPDATE postino_workers SET beats = beats + 1 WHERE :beat AND id = :worker;
WITH line AS (
    SELECT known.channel, queue.value AS queue, coalesce(mark.since_at, '') AS since_at
    FROM postino_channels AS known
    CROSS JOIN json_each('[0, 1, 2]') AS queue
    LEFT JOIN (
        SELECT channel.value AS channel, marked.value AS queue, since.value AS since_at
        FROM json_each(:mark_channel) AS channel
        JOIN json_each(:mark_queue) AS marked ON marked.key = channel.key
        JOIN json_each(:mark_since_at) AS since ON since.key = channel.key
    ) AS mark ON mark.channel = known.channel AND mark.queue = queue.value
), head AS (
    SELECT 'bulk' AS kind, line.channel AS name, line.queue, (
        SELECT run_at FROM postino_jobs AS job
        WHERE job.channel = line.channel AND job.queue = line.queue AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NULL
          AND job.run_at >= line.since_at
        ORDER BY run_at LIMIT 1
    ) AS due_at
    FROM line
    UNION ALL
    SELECT 'lanes', line.channel, line.queue, (
        SELECT due_at FROM postino_lane_due AS due
        WHERE due.channel = line.channel AND due.queue = line.queue
        ORDER BY due_at LIMIT 1
    )
    FROM line
    UNION ALL
    SELECT 'begun', known.channel, 0, (
        SELECT run_at FROM postino_jobs AS job
        WHERE job.channel = known.channel AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NOT NULL
          AND (job.sent OR job.regardless)
        ORDER BY run_at LIMIT 1
    )
    FROM postino_channels AS known
)
SELECT 'clock' AS kind, NULL AS name, NULL AS queue, :now AS due_at, NULL AS detail, NULL AS amount
UNION ALL
SELECT kind, name, queue, due_at, NULL, NULL FROM head WHERE due_at IS NOT NULL
UNION ALL
SELECT 'hint', NULL, NULL, NULL, NULL, NULL WHERE EXISTS (SELECT 1 FROM postino_lane_hints)
UNION ALL
SELECT 'orphan', NULL, NULL, NULL, NULL, NULL
WHERE :beat AND EXISTS (
    SELECT 1 FROM postino_jobs AS job
    WHERE state = 'running' AND (
        deadline_at < :now OR NOT EXISTS (SELECT 1 FROM postino_workers AS worker WHERE worker.id = job.claimed_by)
    )
)
UNION ALL
SELECT 'held', id, NULL, NULL, token, NULL FROM postino_jobs
WHERE :beat AND state = 'running' AND claimed_by = :worker
UNION ALL
SELECT 'gate', name, NULL, until_at,
       json_object('scope', scope, 'name', name, 'kind', kind, 'since_at', since_at, 'until_at', until_at, 'reason', reason), NULL
FROM postino_gates WHERE scope IN ('all', 'queue', 'channel', 'brand') AND until_at > :now
UNION ALL
SELECT 'blackout', id, NULL, NULL, told, NULL FROM postino_blackouts
UNION ALL
SELECT 'breaker', service, NULL, until_at,
       json_object('service', service, 'state', state, 'since_at', since_at, 'until_at', until_at, 'failures', failures,
                   'trips', trips, 'probes', probes, 'reason', reason, 'by_hand', by_hand), NULL
FROM postino_circuits WHERE state <> 'closed' OR failures <> '[]'
UNION ALL
SELECT 'cap', channel, NULL, NULL, NULL, coalesce(most, usual) FROM postino_caps WHERE coalesce(most, usual) IS NOT NULL
UNION ALL
SELECT 'worker', id, NULL, NULL, NULL, beats FROM postino_workers
