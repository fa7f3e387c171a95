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
-- Writes when the lane next has something to do that is allowed. With a running job it has nothing to do until the
-- settle of that job inserts a hint. With a call of its account in doubt it waits until the lookup.
DELETE FROM postino.lane_due WHERE channel = :channel AND lane = :lane;
INSERT INTO postino.lane_due (channel, lane, queue, due_at, brand)
SELECT head.channel, head.lane, head.queue, max(head.run_at, coalesce((
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
    SELECT max(uncertain.lookup_at) FROM postino.jobs AS uncertain
    WHERE uncertain.channel = :channel AND uncertain.lane = :lane AND uncertain.state = 'uncertain'
      AND uncertain.account IS NOT NULL
), '')), coalesce(head.brand, '')
FROM json_each('[0, 1, 2]') AS queue
JOIN postino.jobs AS head ON head.rowid = (
    SELECT job.rowid FROM postino.jobs AS job
    WHERE job.channel = :channel AND job.lane = :lane AND job.queue = queue.value AND job.state <> 'running'
      AND job.run_at IS NOT NULL AND job.lane IS NOT NULL AND NOT job.may_be_live AND NOT job.ignore_blackouts
    ORDER BY job.run_at, job.id
    LIMIT 1
)
WHERE NOT EXISTS (
    SELECT 1 FROM postino.jobs AS busy
    WHERE busy.channel = :channel AND busy.lane = :lane AND busy.state = 'running' AND busy.account IS NOT NULL
)
RETURNING channel, lane, queue, due_at

-- name: delete_lane_due
-- Accounts that just got a job to run: their lanes have nothing to do until its settle inserts a hint.
DELETE FROM postino.lane_due WHERE channel = :channel AND lane = :lane

-- name: find_ready_brands
-- Brands with something due. If few lanes are due, reads those; otherwise makes one index probe per brand, whatever its
-- backlog.
WITH RECURSIVE few AS MATERIALIZED (
    SELECT brand FROM postino.lane_due WHERE channel = :channel AND queue = :queue AND due_at <= :now
      ORDER BY due_at LIMIT 100
), crowd AS MATERIALIZED (
    SELECT count(*) = 100 AS due FROM few
), each_brand (brand) AS (
    SELECT * FROM (
        SELECT brand FROM postino.lane_due
        WHERE channel = :channel AND queue = :queue AND (SELECT due FROM crowd) ORDER BY brand LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT due.brand FROM postino.lane_due AS due
        WHERE due.channel = :channel AND due.queue = :queue AND due.brand > each_brand.brand ORDER BY due.brand LIMIT 1
    )
    FROM each_brand WHERE each_brand.brand IS NOT NULL
), candidate (brand) AS (
    SELECT DISTINCT brand FROM few WHERE NOT (SELECT due FROM crowd)
    UNION ALL
    SELECT each_brand.brand FROM each_brand
    WHERE EXISTS (
        SELECT 1 FROM postino.lane_due AS due
        WHERE due.channel = :channel AND due.queue = :queue AND due.brand = each_brand.brand AND due.due_at <= :now
    )
)
SELECT :channel AS channel, candidate.brand, last.at AS served_at
FROM candidate
LEFT JOIN postino.brand_turns AS last ON last.channel = :channel AND last.brand = candidate.brand

-- name: lock_ready_lanes
-- Ready lanes, the longest waiting first.
SELECT lane.channel, due.brand, lane.lane, lane.account
FROM postino.lane_due AS due
JOIN postino.lanes AS lane ON lane.channel = due.channel AND lane.lane = due.lane
WHERE due.channel = :channel AND due.queue = :queue AND due.brand = :brand AND due.due_at <= :now
  AND NOT EXISTS (
      SELECT 1 FROM postino.gates AS gate
      WHERE gate.scope = 'account' AND gate.name = lane.account AND gate.until_at > :now
  )
ORDER BY due.due_at
LIMIT :share

-- name: lock_closed_lanes
-- Lanes that are due but closed, because a blackout has started. Once update_lane_due has moved them, they cost others
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
