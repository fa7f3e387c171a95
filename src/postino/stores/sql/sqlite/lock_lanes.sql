-- Ready lanes of the brand, the longest waiting first.
SELECT lane.channel, due.brand, lane.lane, lane.account
FROM postino_lane_due AS due
JOIN postino_lanes AS lane ON lane.channel = due.channel AND lane.lane = due.lane
WHERE due.channel = :channel AND due.queue = :queue AND due.brand = :brand AND due.due_at <= :now
  AND NOT EXISTS (
      SELECT 1 FROM postino_gates AS gate
      WHERE gate.scope = 'account' AND gate.name = lane.account AND gate.until_at > :now
  )
ORDER BY due.due_at
LIMIT :share
