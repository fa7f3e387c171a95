-- name: lock_hints_shared
-- While a claim folds hints, nobody may open a gate: the opener would not see the lanes that the claim is closing, and
-- would not hint at them.
SELECT pg_advisory_xact_lock_shared(hashtext('postino.lanes'))

-- name: lock_hints
-- Waits for claims that are folding hints, so that the lanes they close are visible, and keeps new ones out.
SELECT pg_advisory_xact_lock(hashtext('postino.lanes'))

-- name: insert_hints
-- A gate of an account or a brand was opened or closed: all lanes of it must be looked at again.
INSERT INTO postino.lane_hints (channel, lane, account, low_priority)
SELECT lane.channel, lane.lane, lane.account, true
FROM postino.lanes AS lane
JOIN postino.lane_due AS due ON due.channel = lane.channel AND due.lane = lane.lane
WHERE :scope = 'account' AND lane.account = :name
UNION
SELECT lane.channel, lane.lane, lane.account, true
FROM postino.lane_due AS due
JOIN postino.lanes AS lane ON lane.channel = due.channel AND lane.lane = due.lane
WHERE :scope = 'brand' AND due.brand = :name
