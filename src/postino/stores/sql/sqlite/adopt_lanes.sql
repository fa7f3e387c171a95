INSERT INTO postino_lanes (channel, lane, account)
SELECT DISTINCT channel, lane, account
FROM (SELECT channel, lane, account FROM postino_lane_hints ORDER BY late, id LIMIT 1000)
WHERE true
ON CONFLICT DO NOTHING
