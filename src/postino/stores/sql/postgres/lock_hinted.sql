SELECT channel, lane FROM postino.lanes
WHERE (channel, lane) IN (SELECT channel, lane FROM postino.lane_hints ORDER BY late, id LIMIT 1000)
ORDER BY channel, lane
FOR UPDATE SKIP LOCKED
