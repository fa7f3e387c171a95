-- name: lock_hints_shared
-- As long as it folds hints, no gate is opened: who opens one could not see the lanes that are just being closed.
SELECT pg_advisory_xact_lock_shared(hashtext('postino.lanes'))

-- name: lock_hints
-- Waits until every lane that is being closed can be seen, and lets none be closed meanwhile.
SELECT pg_advisory_xact_lock(hashtext('postino.lanes'))

-- name: insert_hints
-- All lanes of an account or a brand are to be looked at again: a gate of theirs was opened, or closed.
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
