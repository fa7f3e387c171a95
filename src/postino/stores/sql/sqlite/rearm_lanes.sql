-- When this lane next has something to do, and may. With a running job it has nothing to do until that job's settle hints
-- at it; an account of which something may still be under way waits until it cannot be any more.
DELETE FROM postino_lane_due WHERE channel = :channel AND lane = :lane;
INSERT INTO postino_lane_due (channel, lane, queue, due_at, brand)
SELECT head.channel, head.lane, head.queue, max(head.run_at, coalesce((
    SELECT max(gate.until_at) FROM postino_gates AS gate WHERE gate.scope = 'account' AND gate.name = head.account
), ''), coalesce((
    SELECT max(until.value) FROM json_each(:shut_account) AS shut JOIN json_each(:account_until_at) AS until ON until.key = shut.key
    WHERE shut.value = head.account
), ''), coalesce((
    SELECT max(until.value) FROM json_each(:shut_brand) AS shut JOIN json_each(:brand_until_at) AS until ON until.key = shut.key
    WHERE shut.value = head.brand
), ''), coalesce((
    SELECT max(doubt.look_at) FROM postino_jobs AS doubt
    WHERE doubt.channel = :channel AND doubt.lane = :lane AND doubt.state = 'uncertain' AND doubt.account IS NOT NULL
), '')), coalesce(head.brand, '')
FROM json_each('[0, 1, 2]') AS queue
JOIN postino_jobs AS head ON head.rowid = (
    SELECT job.rowid FROM postino_jobs AS job
    WHERE job.channel = :channel AND job.lane = :lane AND job.queue = queue.value AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NOT NULL AND NOT job.sent AND NOT job.regardless
    ORDER BY job.run_at, job.id
    LIMIT 1
)
WHERE NOT EXISTS (
    SELECT 1 FROM postino_jobs AS busy
    WHERE busy.channel = :channel AND busy.lane = :lane AND busy.state = 'running' AND busy.account IS NOT NULL
)
RETURNING channel, lane, queue, due_at
