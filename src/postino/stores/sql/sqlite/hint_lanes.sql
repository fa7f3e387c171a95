-- All lanes of an account or a brand are to be looked at again: a gate of theirs was opened, or closed.
INSERT INTO postino_lane_hints (channel, lane, account)
SELECT DISTINCT lane.channel, lane.lane, lane.account
FROM postino_lanes AS lane
JOIN postino_lane_due AS due ON due.channel = lane.channel AND due.lane = lane.lane
WHERE (:scope = 'account' AND lane.account = :name) OR (:scope = 'brand' AND due.brand = :name)
