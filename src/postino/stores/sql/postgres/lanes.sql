-- name: insert_hinted_lanes
-- Inserts lanes when their first hint is read. Existing lanes are not touched: that would wait for the claims that hold
-- them. Lanes that another claim inserts now are left to it, for the same reason: its worker may be frozen.
WITH missing AS MATERIALIZED (
    SELECT DISTINCT channel, lane, account
    FROM (SELECT channel, lane, account FROM postino.lane_hints ORDER BY low_priority, id LIMIT 1000) AS hint
    WHERE NOT EXISTS (
        SELECT 1 FROM postino.lanes AS known WHERE known.channel = hint.channel AND known.lane = hint.lane
    )
)
INSERT INTO postino.lanes (channel, lane, account)
SELECT channel, lane, account FROM missing
WHERE pg_try_advisory_xact_lock(hashtext('postino.lane ' || channel), hashtext(lane))
ORDER BY channel, lane
ON CONFLICT DO NOTHING

-- name: lock_hinted_lanes
SELECT channel, lane FROM postino.lanes
WHERE (channel, lane) IN (SELECT channel, lane FROM postino.lane_hints ORDER BY low_priority, id LIMIT 1000)
ORDER BY channel, lane
FOR UPDATE SKIP LOCKED

-- name: delete_hints
DELETE FROM postino.lane_hints AS hint
USING unnest(:channel::text[], :lane::text[]) AS input (channel, lane)
WHERE hint.channel = input.channel AND hint.lane = input.lane

-- name: update_lane_due
-- Writes when each lane next has something to do that is allowed, for each queue and brand. Runs under the lanes' locks
-- and in a later statement, so that it sees everything committed before. A lane with a running job has nothing to do
-- until that job leaves it. A lane whose account has a call in doubt waits until its lookup. One index probe finds the
-- first job of each queue and brand, whatever their backlogs.
WITH RECURSIVE input AS MATERIALIZED (
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
        SELECT max(circuit.until_at) FROM postino.account_circuits AS circuit
        WHERE circuit.account = lane.account AND circuit.network = lane.channel
    ), (
        SELECT max(job.lookup_at) FROM postino.jobs AS job
        WHERE job.channel = l.channel AND job.lane = l.lane AND job.state = 'uncertain' AND job.account IS NOT NULL
    )) AS open_at
    FROM unnest(:channel::text[], :lane::text[]) AS l (channel, lane)
    JOIN postino.lanes AS lane ON lane.channel = l.channel AND lane.lane = l.lane
), head AS (
    SELECT input.channel, input.lane, input.open_at, first.queue, first.brand, first.type, first.run_at
    FROM input
    CROSS JOIN LATERAL (
        SELECT queue, coalesce(brand, '') AS brand, type, run_at FROM postino.jobs
        WHERE channel = input.channel AND lane = input.lane AND state <> 'running' AND run_at IS NOT NULL
          AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts
        ORDER BY queue, coalesce(brand, ''), type, run_at, id LIMIT 1
    ) AS first
    WHERE NOT input.busy
    UNION ALL
    SELECT head.channel, head.lane, head.open_at, next.queue, next.brand, next.type, next.run_at
    FROM head
    CROSS JOIN LATERAL (
        SELECT queue, coalesce(brand, '') AS brand, type, run_at FROM postino.jobs
        WHERE channel = head.channel AND lane = head.lane
          AND (queue, coalesce(brand, ''), type) > (head.queue, head.brand, head.type)
          AND state <> 'running' AND run_at IS NOT NULL
          AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts
        ORDER BY queue, coalesce(brand, ''), type, run_at, id LIMIT 1
    ) AS next
), idle AS (
    DELETE FROM postino.lane_due AS due USING input
    WHERE due.channel = input.channel AND due.lane = input.lane
      AND (input.busy OR NOT EXISTS (
          SELECT 1 FROM postino.jobs AS job
          WHERE job.channel = due.channel AND job.lane = due.lane AND job.queue = due.queue
            AND coalesce(job.brand, '') = due.brand AND job.type = due.type AND job.state <> 'running'
            AND job.run_at IS NOT NULL AND job.lane IS NOT NULL AND NOT job.may_be_live AND NOT job.ignore_blackouts
      ))
)
INSERT INTO postino.lane_due (channel, lane, queue, brand, type, due_at)
SELECT channel, lane, queue, brand, type, greatest(run_at, open_at, (
    SELECT max(closed.until_at)
      FROM unnest(:closed_brand::text[], :brand_until_at::timestamptz[]) AS closed (name, until_at)
    WHERE closed.name = head.brand
))
FROM head
ON CONFLICT (channel, lane, queue, brand, type) DO UPDATE SET due_at = excluded.due_at
RETURNING channel, lane, queue, type, due_at

-- name: delete_lane_due
-- Accounts that just got a job to run: their lanes have nothing to do until it leaves them.
DELETE FROM postino.lane_due AS due USING unnest(:channel::text[], :lane::text[]) AS l (channel, lane)
WHERE due.channel = l.channel AND due.lane = l.lane

-- name: find_ready_brands
-- Brands with something due. If few lanes are due, reads those; otherwise makes one index probe per brand, whatever its
-- backlog.
SELECT input.channel, input.type, candidate.brand, last.at AS served_at
FROM unnest(:channel::text[], :type::text[]) AS input (channel, type)
CROSS JOIN LATERAL (
    WITH RECURSIVE few AS MATERIALIZED (
        SELECT brand FROM postino.lane_due
        WHERE channel = input.channel AND queue = :queue AND type = input.type AND due_at <= :now
        ORDER BY due_at LIMIT 100
    ), crowd AS MATERIALIZED (
        SELECT count(*) = 100 AS due FROM few
    ), each_brand AS (
        (SELECT brand, due_at FROM postino.lane_due
         WHERE channel = input.channel AND queue = :queue AND type = input.type AND (SELECT due FROM crowd) ORDER BY brand, due_at LIMIT 1)
        UNION ALL
        SELECT next.brand, next.due_at
        FROM each_brand
        CROSS JOIN LATERAL (
            SELECT brand, due_at FROM postino.lane_due
            WHERE channel = input.channel AND queue = :queue AND type = input.type AND brand > each_brand.brand
            ORDER BY brand, due_at LIMIT 1
        ) AS next
    )
    SELECT DISTINCT brand FROM few WHERE NOT (SELECT due FROM crowd)
    UNION ALL
    SELECT brand FROM each_brand WHERE due_at <= :now
) AS candidate
LEFT JOIN postino.brand_turns AS last ON last.channel = input.channel AND last.brand = candidate.brand

-- name: lock_ready_lanes
-- Ready lanes, the longest waiting first. The `|| ''` makes the planner find each lane by its whole key. Without it, and
-- before the first statistics of the table, it reads all lanes of the channel for each lane that is due.
SELECT ready.channel, ready.brand, ready.type, ready.lane, ready.account, ready.due_at, (
    SELECT circuit.service FROM postino.account_circuits AS circuit
    WHERE circuit.account = ready.account AND circuit.network = ready.channel
) AS service
FROM unnest(:channel::text[], :brand::text[], :type::text[], :share::int[]) AS input (channel, brand, type, share)
CROSS JOIN LATERAL (
    SELECT lane.channel, due.brand, due.type, lane.lane, lane.account, due.due_at
    FROM postino.lane_due AS due
    JOIN postino.lanes AS lane ON lane.channel = due.channel || '' AND lane.lane = due.lane
    WHERE due.channel = input.channel AND due.queue = :queue AND due.brand = input.brand AND due.type = input.type
      AND due.due_at <= :now
      AND NOT EXISTS (
          SELECT 1 FROM postino.gates AS gate
          WHERE gate.scope = 'account' AND gate.name = lane.account AND gate.until_at > :now
      ) AND NOT EXISTS (
          SELECT 1 FROM postino.account_circuits AS circuit
          WHERE circuit.account = lane.account AND circuit.network = lane.channel AND circuit.until_at > :now
      )
    ORDER BY due.due_at
    LIMIT input.share
    FOR UPDATE OF lane SKIP LOCKED
) AS ready

-- name: lock_closed_lanes
-- Lanes that are due but closed: of brands that are paused or in a blackout, and of accounts in a blackout. Once update_lane_due has moved them, they cost others
-- nothing.
SELECT lane.channel, lane.lane
FROM postino.lanes AS lane
JOIN (
    SELECT due.channel, due.lane
    FROM unnest(:channel::text[]) AS input (channel)
    CROSS JOIN unnest(:closed_brand::text[]) AS closed (brand)
    CROSS JOIN LATERAL (
        SELECT channel, lane FROM postino.lane_due
        WHERE channel = input.channel AND queue = :queue AND brand = closed.brand AND due_at <= :now
        ORDER BY due_at LIMIT 500
    ) AS due
    UNION
    SELECT due.channel, due.lane
    FROM unnest(:channel::text[]) AS input (channel)
    CROSS JOIN unnest(:closed_account::text[]) AS closed (account)
    JOIN postino.lane_due AS due ON due.channel = input.channel AND due.lane = '@' || closed.account
      AND due.queue = :queue
    WHERE due.due_at <= :now
) AS closed ON closed.channel = lane.channel AND closed.lane = lane.lane
FOR UPDATE OF lane SKIP LOCKED

-- name: record_brand_turns
-- Skips a row that another claim holds, or inserts: a turn is not worth a wait.
WITH turn AS (
    SELECT * FROM unnest(:channel::text[], :brand::text[]) AS t (channel, brand)
), known AS (
    SELECT brand_turns.channel, brand_turns.brand FROM postino.brand_turns JOIN turn USING (channel, brand)
    FOR UPDATE OF brand_turns SKIP LOCKED
), again AS (
    UPDATE postino.brand_turns SET at = :now FROM known
    WHERE brand_turns.channel = known.channel AND brand_turns.brand = known.brand
), missing AS MATERIALIZED (
    SELECT channel, brand FROM turn
    WHERE NOT EXISTS (SELECT 1 FROM postino.brand_turns AS last WHERE last.channel = turn.channel
      AND last.brand = turn.brand)
)
INSERT INTO postino.brand_turns (channel, brand, at)
SELECT channel, brand, :now FROM missing
WHERE pg_try_advisory_xact_lock(hashtext('postino.turn ' || channel), hashtext(brand))
ORDER BY channel, brand
ON CONFLICT DO NOTHING

-- name: list_unreachable_jobs
-- Jobs that no claim would ever find: the first of each lane, queue and brand, without a hint, whose lane is not due, or
-- due later than the job's time and closed gates say. A lane with a running job is looked at when that job leaves it.
-- Claims read other jobs through their own indexes, if their channel is known: see list_unknown_channels. Every
-- poll looks for running jobs without a worker.
WITH RECURSIVE head AS (
    (SELECT id, channel, lane, account, queue, coalesce(brand, '') AS brand, type, run_at FROM postino.jobs
     WHERE state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live AND NOT ignore_blackouts
     ORDER BY channel, lane, queue, coalesce(brand, ''), type, run_at, id LIMIT 1)
    UNION ALL
    SELECT next.id, next.channel, next.lane, next.account, next.queue, next.brand, next.type, next.run_at
    FROM head
    CROSS JOIN LATERAL (
        SELECT id, channel, lane, account, queue, coalesce(brand, '') AS brand, type, run_at FROM postino.jobs
        WHERE (channel, lane, queue, coalesce(brand, ''), type)
            > (head.channel, head.lane, head.queue, head.brand, head.type)
          AND state <> 'running' AND run_at IS NOT NULL AND lane IS NOT NULL AND NOT may_be_live
          AND NOT ignore_blackouts
        ORDER BY channel, lane, queue, coalesce(brand, ''), type, run_at, id LIMIT 1
    ) AS next
)
SELECT job.*
FROM head JOIN postino.jobs AS job ON job.id = head.id
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
      AND due.due_at <= greatest(:now, head.run_at, (
          SELECT max(gate.until_at) FROM postino.gates AS gate WHERE gate.scope = 'account' AND gate.name = head.account
      ), (
          SELECT max(closed.until_at)
            FROM unnest(:closed_account::text[], :account_until_at::timestamptz[]) AS closed (name, until_at)
          WHERE closed.name = head.account
      ), (
          SELECT max(circuit.until_at) FROM postino.account_circuits AS circuit
          WHERE circuit.account = head.account AND circuit.network = head.channel
      ), (
          SELECT max(closed.until_at)
            FROM unnest(:closed_brand::text[], :brand_until_at::timestamptz[]) AS closed (name, until_at)
          WHERE closed.name = head.brand
      ), (
          SELECT max(uncertain.lookup_at) FROM postino.jobs AS uncertain
          WHERE uncertain.channel = head.channel AND uncertain.lane = head.lane AND uncertain.state = 'uncertain'
            AND uncertain.account IS NOT NULL
      ))
)
ORDER BY job.id
