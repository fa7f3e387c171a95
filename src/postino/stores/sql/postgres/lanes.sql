-- name: insert_hinted_lanes
-- Inserts lanes when their first hint is read. Existing lanes are not touched: that would wait for the claims that hold
-- them.
INSERT INTO postino.lanes (channel, lane, account)
SELECT DISTINCT channel, lane, account
FROM (SELECT channel, lane, account FROM postino.lane_hints ORDER BY low_priority, id LIMIT 1000) AS hint
WHERE NOT EXISTS (SELECT 1 FROM postino.lanes AS known WHERE known.channel = hint.channel AND known.lane = hint.lane)
ORDER BY channel, lane
ON CONFLICT DO NOTHING

-- name: lock_hinted_lanes
SELECT channel, lane FROM postino.lanes
WHERE (channel, lane) IN (SELECT channel, lane FROM postino.lane_hints ORDER BY low_priority, id LIMIT 1000)
ORDER BY channel, lane
FOR UPDATE SKIP LOCKED

-- name: delete_hints
DELETE FROM postino.lane_hints AS hint
USING unnest(:channel::text[], :lane::text[]) AS line (channel, lane)
WHERE hint.channel = line.channel AND hint.lane = line.lane

-- name: update_lane_due
-- Writes when each lane next has something to do that is allowed. Runs under the lanes' locks and in a later statement,
-- so that it sees everything committed before. A lane with a running job has nothing to do until the settle of that job
-- inserts a hint. A lane whose account has a call in doubt waits until its lookup.
WITH line AS MATERIALIZED (
    SELECT l.channel, l.lane, EXISTS (
        SELECT 1 FROM postino.jobs AS job
        WHERE job.channel = l.channel AND job.lane = l.lane AND job.state = 'running' AND job.account IS NOT NULL
    ) AS busy, greatest((
        SELECT max(gate.until_at) FROM postino.gates AS gate WHERE gate.scope = 'account' AND gate.name = lane.account
    ), (
        SELECT max(closed.until_at)
          FROM unnest(:closed_account::text[], :account_until_at::timestamptz[]) AS closed (name, until_at)
        WHERE closed.name = lane.account
    ), (
        SELECT max(job.lookup_at) FROM postino.jobs AS job
        WHERE job.channel = l.channel AND job.lane = l.lane AND job.state = 'uncertain' AND job.account IS NOT NULL
    )) AS open_at
    FROM unnest(:channel::text[], :lane::text[]) AS l (channel, lane)
    JOIN postino.lanes AS lane ON lane.channel = l.channel AND lane.lane = l.lane
), next AS (
    SELECT line.channel, line.lane, queue.queue, coalesce(head.brand, '') AS brand,
      greatest(head.run_at, line.open_at, (
        SELECT max(closed.until_at)
          FROM unnest(:closed_brand::text[], :brand_until_at::timestamptz[]) AS closed (name, until_at)
        WHERE closed.name = head.brand
    )) AS due_at
    FROM line
    CROSS JOIN generate_series(0, 2) AS queue (queue)
    CROSS JOIN LATERAL (
        SELECT run_at, brand FROM postino.jobs
        WHERE channel = line.channel AND lane = line.lane AND queue = queue.queue AND state <> 'running'
          AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts
          AND NOT line.busy
        ORDER BY run_at, id LIMIT 1
    ) AS head
), idle AS (
    DELETE FROM postino.lane_due AS due USING line
    WHERE due.channel = line.channel AND due.lane = line.lane
      AND (line.busy OR NOT EXISTS (
          SELECT 1 FROM postino.jobs AS job
          WHERE job.channel = due.channel AND job.lane = due.lane AND job.queue = due.queue AND job.state <> 'running'
            AND job.run_at IS NOT NULL AND job.lane IS NOT NULL AND NOT job.may_be_live AND NOT job.ignore_blackouts
      ))
)
INSERT INTO postino.lane_due (channel, lane, queue, due_at, brand)
SELECT channel, lane, queue, due_at, brand FROM next
ON CONFLICT (channel, lane, queue) DO UPDATE SET due_at = excluded.due_at, brand = excluded.brand
RETURNING channel, lane, queue, due_at

-- name: delete_lane_due
-- Accounts that just got a job to run: their lanes have nothing to do until its settle inserts a hint.
DELETE FROM postino.lane_due AS due USING unnest(:channel::text[], :lane::text[]) AS l (channel, lane)
WHERE due.channel = l.channel AND due.lane = l.lane

-- name: find_ready_brands
-- Brands with something due. If few lanes are due, reads those; otherwise makes one index probe per brand, whatever its
-- backlog.
SELECT line.channel, candidate.brand, last.at AS served_at
FROM unnest(:channel::text[]) AS line (channel)
CROSS JOIN LATERAL (
    WITH RECURSIVE few AS MATERIALIZED (
        SELECT brand FROM postino.lane_due
        WHERE channel = line.channel AND queue = :queue AND due_at <= :now
        ORDER BY due_at LIMIT 100
    ), crowd AS MATERIALIZED (
        SELECT count(*) = 100 AS due FROM few
    ), each_brand AS (
        (SELECT brand, due_at FROM postino.lane_due
         WHERE channel = line.channel AND queue = :queue AND (SELECT due FROM crowd) ORDER BY brand, due_at LIMIT 1)
        UNION ALL
        SELECT next.brand, next.due_at
        FROM each_brand
        CROSS JOIN LATERAL (
            SELECT brand, due_at FROM postino.lane_due
            WHERE channel = line.channel AND queue = :queue AND brand > each_brand.brand ORDER BY brand, due_at LIMIT 1
        ) AS next
    )
    SELECT DISTINCT brand FROM few WHERE NOT (SELECT due FROM crowd)
    UNION ALL
    SELECT brand FROM each_brand WHERE due_at <= :now
) AS candidate
LEFT JOIN postino.brand_turns AS last ON last.channel = line.channel AND last.brand = candidate.brand

-- name: lock_ready_lanes
-- Ready lanes, the longest waiting first.
SELECT ready.channel, ready.brand, ready.lane, ready.account
FROM unnest(:channel::text[], :brand::text[], :share::int[]) AS line (channel, brand, share)
CROSS JOIN LATERAL (
    SELECT lane.channel, due.brand, lane.lane, lane.account
    FROM postino.lane_due AS due
    JOIN postino.lanes AS lane ON lane.channel = due.channel AND lane.lane = due.lane
    WHERE due.channel = line.channel AND due.queue = :queue AND due.brand = line.brand
      AND due.due_at <= :now
      AND NOT EXISTS (
          SELECT 1 FROM postino.gates AS gate
          WHERE gate.scope = 'account' AND gate.name = lane.account AND gate.until_at > :now
      )
    ORDER BY due.due_at
    LIMIT line.share
    FOR UPDATE OF lane SKIP LOCKED
) AS ready

-- name: lock_closed_lanes
-- Lanes that are due but closed, because a blackout has started. Once update_lane_due has moved them, they cost others
-- nothing.
SELECT lane.channel, lane.lane
FROM postino.lanes AS lane
JOIN (
    SELECT due.channel, due.lane
    FROM unnest(:channel::text[]) AS line (channel)
    CROSS JOIN unnest(:closed_brand::text[]) AS closed (brand)
    CROSS JOIN LATERAL (
        SELECT channel, lane FROM postino.lane_due
        WHERE channel = line.channel AND queue = :queue AND brand = closed.brand AND due_at <= :now
        ORDER BY due_at LIMIT 500
    ) AS due
    UNION
    SELECT due.channel, due.lane
    FROM unnest(:channel::text[]) AS line (channel)
    CROSS JOIN unnest(:closed_account::text[]) AS closed (account)
    JOIN postino.lane_due AS due ON due.channel = line.channel AND due.lane = '@' || closed.account
      AND due.queue = :queue
    WHERE due.due_at <= :now
) AS closed ON closed.channel = lane.channel AND closed.lane = lane.lane
FOR UPDATE OF lane SKIP LOCKED

-- name: record_brand_turns
-- Skips a row that another claim holds: a turn is not worth a wait.
WITH turn AS (
    SELECT * FROM unnest(:channel::text[], :brand::text[]) AS t (channel, brand)
), known AS (
    SELECT brand_turns.channel, brand_turns.brand FROM postino.brand_turns JOIN turn USING (channel, brand)
    FOR UPDATE OF brand_turns SKIP LOCKED
), again AS (
    UPDATE postino.brand_turns SET at = :now FROM known
    WHERE brand_turns.channel = known.channel AND brand_turns.brand = known.brand
)
INSERT INTO postino.brand_turns (channel, brand, at)
SELECT channel, brand, :now FROM turn
WHERE NOT EXISTS (SELECT 1 FROM postino.brand_turns AS last WHERE last.channel = turn.channel
  AND last.brand = turn.brand)
ORDER BY channel, brand
ON CONFLICT DO NOTHING
