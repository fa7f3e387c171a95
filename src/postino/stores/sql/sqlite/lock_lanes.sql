-- Ready lanes, the longest waiting first. A lane of a paused brand or account is one skipped row, whatever its backlog.
SELECT lane.channel, lane.lane, lane.account
FROM postino_lane_due AS due
JOIN postino_lanes AS lane ON lane.channel = due.channel AND lane.lane = due.lane
WHERE due.channel = :channel AND due.queue = :queue AND due.due_at <= :now
  AND (due.brand IS NULL OR due.brand NOT IN (SELECT value FROM json_each(:brands)))
  AND (lane.account IS NULL OR lane.account NOT IN (SELECT value FROM json_each(:accounts)))
ORDER BY due.due_at
LIMIT :share
