-- All lanes of an account or a brand are to be looked at again: a gate of theirs was opened, or closed.
INSERT INTO postino_lane_hints (channel, lane, account, late)
SELECT lane.channel, lane.lane, lane.account, 1
FROM postino_lanes AS lane
JOIN postino_lane_due AS due ON due.channel = lane.channel AND due.lane = lane.lane
WHERE :scope = 'account' AND lane.account = :name
UNION
SELECT lane.channel, lane.lane, lane.account, 1
FROM postino_lane_due AS due
JOIN postino_lanes AS lane ON lane.channel = due.channel AND lane.lane = due.lane
WHERE :scope = 'brand' AND due.brand = :name
