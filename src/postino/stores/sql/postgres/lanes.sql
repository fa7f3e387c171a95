-- name: insert_hinted_lanes
-- Lanes are made when the first hint about them is read. Known ones are not touched: that would wait for whoever claims
-- from them.
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
-- When each of these lanes next has something to do, and may. Under the lanes' locks, and later than them, so that it
-- sees all that came before. A lane with a running job has nothing to do until that job's settle hints at it; an account
-- of which something may still be under way waits until it cannot be any more.
WITH line AS MATERIALIZED (
    SELECT l.channel, l.lane, EXISTS (
        SELECT 1 FROM postino.jobs AS job
        WHERE job.channel = l.channel AND job.lane = l.lane AND job.state = 'running' AND job.account IS NOT NULL
    ) AS busy, greatest((
        SELECT max(gate.until_at) FROM postino.gates AS gate WHERE gate.scope = 'account' AND gate.name = lane.account
    ), (
        SELECT max(shut.until_at) FROM unnest(:shut_account::text[], :account_until_at::timestamptz[]) AS shut (name, until_at)
        WHERE shut.name = lane.account
    ), (
        SELECT max(job.lookup_at) FROM postino.jobs AS job
        WHERE job.channel = l.channel AND job.lane = l.lane AND job.state = 'uncertain' AND job.account IS NOT NULL
    )) AS open_at
    FROM unnest(:channel::text[], :lane::text[]) AS l (channel, lane)
    JOIN postino.lanes AS lane ON lane.channel = l.channel AND lane.lane = l.lane
), next AS (
    SELECT line.channel, line.lane, queue.queue, coalesce(head.brand, '') AS brand, greatest(head.run_at, line.open_at, (
        SELECT max(shut.until_at) FROM unnest(:shut_brand::text[], :brand_until_at::timestamptz[]) AS shut (name, until_at)
        WHERE shut.name = head.brand
    )) AS due_at
    FROM line
    CROSS JOIN generate_series(0, 2) AS queue (queue)
    CROSS JOIN LATERAL (
        SELECT run_at, brand FROM postino.jobs
        WHERE channel = line.channel AND lane = line.lane AND queue = queue.queue AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts
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
-- Accounts that just got a job to run: nothing to do there until that job's settle hints at it.
DELETE FROM postino.lane_due AS due USING unnest(:channel::text[], :lane::text[]) AS l (channel, lane)
WHERE due.channel = l.channel AND due.lane = l.lane

-- name: find_ready_brands
-- Which brands have something due on each channel. Where few lanes are due, they tell; else one probe of the index for
-- each brand there is, whatever their backlogs.
SELECT line.channel, found.brand, last.at AS served_at
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
) AS found
LEFT JOIN postino.brand_turns AS last ON last.channel = line.channel AND last.brand = found.brand

-- name: lock_ready_lanes
-- Ready lanes of each brand, the longest waiting first.
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
-- Lanes that are due and may not be claimed from: a blackout has begun. Once looked at again they are in nobody's way.
SELECT lane.channel, lane.lane
FROM postino.lanes AS lane
JOIN (
    SELECT due.channel, due.lane
    FROM unnest(:channel::text[]) AS line (channel)
    CROSS JOIN unnest(:shut_brand::text[]) AS shut (brand)
    CROSS JOIN LATERAL (
        SELECT channel, lane FROM postino.lane_due
        WHERE channel = line.channel AND queue = :queue AND brand = shut.brand AND due_at <= :now
        ORDER BY due_at LIMIT 500
    ) AS due
    UNION
    SELECT due.channel, due.lane
    FROM unnest(:channel::text[]) AS line (channel)
    CROSS JOIN unnest(:shut_account::text[]) AS shut (account)
    JOIN postino.lane_due AS due ON due.channel = line.channel AND due.lane = '@' || shut.account AND due.queue = :queue
    WHERE due.due_at <= :now
) AS shut ON shut.channel = lane.channel AND shut.lane = lane.lane
FOR UPDATE OF lane SKIP LOCKED

-- name: record_brand_turns
-- Remembers whose turn it was. A row that somebody else holds is left to them: a turn is not worth a wait.
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
WHERE NOT EXISTS (SELECT 1 FROM postino.brand_turns AS last WHERE last.channel = turn.channel AND last.brand = turn.brand)
ORDER BY channel, brand
ON CONFLICT DO NOTHING
