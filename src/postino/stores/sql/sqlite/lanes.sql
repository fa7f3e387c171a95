-- name: insert_hinted_lanes
INSERT INTO postino.lanes (channel, lane, account)
SELECT DISTINCT channel, lane, account
FROM (SELECT channel, lane, account FROM postino.lane_hints ORDER BY low_priority, id LIMIT 1000)
WHERE true
ON CONFLICT DO NOTHING

-- name: lock_hinted_lanes
SELECT DISTINCT channel, lane FROM (SELECT channel, lane FROM postino.lane_hints ORDER BY low_priority, id LIMIT 1000)

-- name: delete_hints
DELETE FROM postino.lane_hints WHERE channel = :channel AND lane = :lane

-- name: update_lane_due
-- Writes when the lane next has something to do that is allowed, for each queue and brand. With a running job it has
-- nothing to do until that job leaves it. With a call of its account in doubt it waits until the lookup. One index probe
-- finds the first job of each queue and brand, whatever their backlogs; SQLite compares one column at a time.
DELETE FROM postino.lane_due WHERE channel = :channel AND lane = :lane;
WITH RECURSIVE head (queue, brand, type, run_at, account) AS (
    SELECT * FROM (
        SELECT queue, coalesce(brand, ''), type, run_at, account FROM postino.jobs
        WHERE channel = :channel AND lane = :lane AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL
          AND NOT may_be_live AND NOT ignore_blackouts
        ORDER BY queue, coalesce(brand, ''), type, run_at, id LIMIT 1
    )
    UNION ALL
    SELECT next.queue, coalesce(next.brand, ''), next.type, next.run_at, next.account
    FROM head
    JOIN postino.jobs AS next ON next.rowid = coalesce(
        (SELECT job.rowid FROM postino.jobs AS job
         WHERE job.channel = :channel AND job.lane = :lane AND job.queue = head.queue
           AND coalesce(job.brand, '') = head.brand AND job.type > head.type
           AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NOT NULL AND NOT job.may_be_live
           AND NOT job.ignore_blackouts
         ORDER BY job.type, job.run_at, job.id LIMIT 1),
        (SELECT job.rowid FROM postino.jobs AS job
         WHERE job.channel = :channel AND job.lane = :lane AND job.queue = head.queue AND coalesce(job.brand, '') > head.brand
           AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NOT NULL AND NOT job.may_be_live
           AND NOT job.ignore_blackouts
         ORDER BY coalesce(job.brand, ''), job.type, job.run_at, job.id LIMIT 1),
        (SELECT job.rowid FROM postino.jobs AS job
         WHERE job.channel = :channel AND job.lane = :lane AND job.queue > head.queue
           AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NOT NULL AND NOT job.may_be_live
           AND NOT job.ignore_blackouts
         ORDER BY job.queue, coalesce(job.brand, ''), job.type, job.run_at, job.id LIMIT 1)
    )
)
INSERT INTO postino.lane_due (channel, lane, queue, brand, type, due_at)
SELECT :channel, :lane, head.queue, head.brand, head.type, max(head.run_at, coalesce((
    SELECT max(gate.until_at) FROM postino.gates AS gate WHERE gate.scope = 'account' AND gate.name = head.account
), ''), coalesce((
    SELECT max(until.value) FROM json_each(:closed_account) AS closed
      JOIN json_each(:account_until_at) AS until ON until.key = closed.key
    WHERE closed.value = head.account
), ''), coalesce((
    SELECT max(until.value) FROM json_each(:closed_brand) AS closed
      JOIN json_each(:brand_until_at) AS until ON until.key = closed.key
    WHERE closed.value = head.brand
), ''), coalesce((
    SELECT max(circuit.until_at) FROM postino.account_circuits AS circuit
    WHERE circuit.account = head.account AND circuit.network = :channel
), ''), coalesce((
    SELECT max(uncertain.lookup_at) FROM postino.jobs AS uncertain
    WHERE uncertain.channel = :channel AND uncertain.lane = :lane AND uncertain.state = 'uncertain'
      AND uncertain.account IS NOT NULL
), ''))
FROM head
WHERE NOT EXISTS (
    SELECT 1 FROM postino.jobs AS busy
    WHERE busy.channel = :channel AND busy.lane = :lane AND busy.state = 'running' AND busy.account IS NOT NULL
)
RETURNING channel, lane, queue, type, due_at

-- name: delete_lane_due
-- Accounts that just got a job to run: their lanes have nothing to do until it leaves them.
DELETE FROM postino.lane_due WHERE channel = :channel AND lane = :lane

-- name: find_ready_brands
-- Brands with something due. If few lanes are due, reads those; otherwise makes one index probe per brand, whatever its
-- backlog.
WITH RECURSIVE few AS MATERIALIZED (
    SELECT brand FROM postino.lane_due
    WHERE channel = :channel AND queue = :queue AND type = :type AND due_at <= :now
      ORDER BY due_at LIMIT 100
), crowd AS MATERIALIZED (
    SELECT count(*) = 100 AS due FROM few
), each_brand (brand) AS (
    SELECT * FROM (
        SELECT brand FROM postino.lane_due
        WHERE channel = :channel AND queue = :queue AND type = :type AND (SELECT due FROM crowd) ORDER BY brand LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT due.brand FROM postino.lane_due AS due
        WHERE due.channel = :channel AND due.queue = :queue AND due.type = :type AND due.brand > each_brand.brand
        ORDER BY due.brand LIMIT 1
    )
    FROM each_brand WHERE each_brand.brand IS NOT NULL
), candidate (brand) AS (
    SELECT DISTINCT brand FROM few WHERE NOT (SELECT due FROM crowd)
    UNION ALL
    SELECT each_brand.brand FROM each_brand
    WHERE EXISTS (
        SELECT 1 FROM postino.lane_due AS due
        WHERE due.channel = :channel AND due.queue = :queue AND due.type = :type AND due.brand = each_brand.brand AND due.due_at <= :now
    )
)
SELECT :channel AS channel, :type AS type, candidate.brand, last.at AS served_at
FROM candidate
LEFT JOIN postino.brand_turns AS last ON last.channel = :channel AND last.brand = candidate.brand

-- name: lock_ready_lanes
-- Ready lanes, the longest waiting first.
SELECT lane.channel, due.brand, due.type, lane.lane, lane.account, due.due_at, (
    SELECT circuit.service FROM postino.account_circuits AS circuit
    WHERE circuit.account = lane.account AND circuit.network = lane.channel
) AS service
FROM postino.lane_due AS due
JOIN postino.lanes AS lane ON lane.channel = due.channel AND lane.lane = due.lane
WHERE due.channel = :channel AND due.queue = :queue AND due.type = :type AND due.brand = :brand AND due.due_at <= :now
  AND NOT EXISTS (
      SELECT 1 FROM postino.gates AS gate
      WHERE gate.scope = 'account' AND gate.name = lane.account AND gate.until_at > :now
  ) AND NOT EXISTS (
      SELECT 1 FROM postino.account_circuits AS circuit
      WHERE circuit.account = lane.account AND circuit.network = lane.channel AND circuit.until_at > :now
  )
ORDER BY due.due_at
LIMIT :share

-- name: lock_closed_lanes
-- Lanes that are due but closed: of brands that are paused or in a blackout, and of accounts in a blackout. Once update_lane_due has moved them, they cost others
-- nothing.
SELECT channel, lane FROM postino.lane_due
WHERE channel = :channel AND queue = :queue AND brand = ANY (:closed_brand) AND due_at <= :now
UNION
SELECT channel, lane FROM postino.lane_due
WHERE channel = :channel AND queue = :queue AND lane IN (SELECT '@' || value FROM json_each(:closed_account))
  AND due_at <= :now
LIMIT 500

-- name: record_brand_turns
INSERT INTO postino.brand_turns (channel, brand, at) VALUES (:channel, :brand, :now)
ON CONFLICT (channel, brand) DO UPDATE SET at = excluded.at

-- name: list_unreachable_jobs
-- Jobs that no claim would ever find: the first of each lane, queue and brand, without a hint, whose lane is not due, or
-- due later than the job's time and closed gates say. A lane with a running job is looked at when that job leaves it.
-- Claims read other jobs through their own indexes, if their channel is known: see list_unknown_channels. Every
-- poll looks for running jobs without a worker.
WITH RECURSIVE head (id, channel, lane, account, queue, brand, type, run_at) AS (
    SELECT * FROM (
        SELECT id, channel, lane, account, queue, coalesce(brand, ''), type, run_at FROM postino.jobs
        WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live
          AND NOT ignore_blackouts
        ORDER BY channel, lane, queue, coalesce(brand, ''), type, run_at, id LIMIT 1
    )
    UNION ALL
    SELECT next.id, next.channel, next.lane, next.account, next.queue, coalesce(next.brand, ''), next.type, next.run_at
    FROM head
    JOIN postino.jobs AS next ON next.rowid = coalesce(
        (SELECT job.rowid FROM postino.jobs AS job
         WHERE job.channel = head.channel AND job.lane = head.lane AND job.queue = head.queue
           AND coalesce(job.brand, '') = head.brand AND job.type > head.type
           AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NOT NULL AND NOT job.may_be_live
           AND NOT job.ignore_blackouts
         ORDER BY job.type, job.run_at, job.id LIMIT 1),
        (SELECT job.rowid FROM postino.jobs AS job
         WHERE job.channel = head.channel AND job.lane = head.lane AND job.queue = head.queue
           AND coalesce(job.brand, '') > head.brand
           AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NOT NULL AND NOT job.may_be_live
           AND NOT job.ignore_blackouts
         ORDER BY coalesce(job.brand, ''), job.type, job.run_at, job.id LIMIT 1),
        (SELECT job.rowid FROM postino.jobs AS job
         WHERE job.channel = head.channel AND job.lane = head.lane AND job.queue > head.queue
           AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NOT NULL AND NOT job.may_be_live
           AND NOT job.ignore_blackouts
         ORDER BY job.queue, coalesce(job.brand, ''), job.type, job.run_at, job.id LIMIT 1),
        (SELECT job.rowid FROM postino.jobs AS job
         WHERE job.channel = head.channel AND job.lane > head.lane
           AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NOT NULL AND NOT job.may_be_live
           AND NOT job.ignore_blackouts
         ORDER BY job.lane, job.queue, coalesce(job.brand, ''), job.type, job.run_at, job.id LIMIT 1),
        (SELECT job.rowid FROM postino.jobs AS job
         WHERE job.channel > head.channel
           AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NOT NULL AND NOT job.may_be_live
           AND NOT job.ignore_blackouts
         ORDER BY job.channel, job.lane, job.queue, coalesce(job.brand, ''), job.type, job.run_at, job.id LIMIT 1)
    )
)
SELECT job.*
FROM head CROSS JOIN postino.jobs AS job ON job.id = head.id
WHERE NOT EXISTS (
    SELECT 1 FROM postino.lane_hints AS hint WHERE hint.channel = head.channel AND hint.lane = head.lane
) AND NOT EXISTS (
    SELECT 1 FROM postino.jobs AS busy
    WHERE busy.channel = head.channel AND busy.lane = head.lane AND busy.state = 'running' AND busy.account IS NOT NULL
) AND NOT EXISTS (
    SELECT 1 FROM postino.lane_due AS due
    JOIN postino.lanes AS lane ON lane.channel = due.channel AND lane.lane = due.lane
    WHERE due.channel = head.channel AND due.lane = head.lane AND due.queue = head.queue AND due.brand = head.brand
      AND due.type = head.type
      AND due.due_at <= max(:now, head.run_at, coalesce((
          SELECT max(gate.until_at) FROM postino.gates AS gate WHERE gate.scope = 'account' AND gate.name = head.account
      ), ''), coalesce((
          SELECT max(until.value) FROM json_each(:closed_account) AS closed
            JOIN json_each(:account_until_at) AS until ON until.key = closed.key
          WHERE closed.value = head.account
      ), ''), coalesce((
          SELECT max(circuit.until_at) FROM postino.account_circuits AS circuit
          WHERE circuit.account = head.account AND circuit.network = head.channel
      ), ''), coalesce((
          SELECT max(until.value) FROM json_each(:closed_brand) AS closed
            JOIN json_each(:brand_until_at) AS until ON until.key = closed.key
          WHERE closed.value = head.brand
      ), ''), coalesce((
          SELECT max(uncertain.lookup_at) FROM postino.jobs AS uncertain
          WHERE uncertain.channel = head.channel AND uncertain.lane = head.lane AND uncertain.state = 'uncertain'
            AND uncertain.account IS NOT NULL
      ), ''))
)
ORDER BY job.id
