-- Lanes are made when the first hint about them is read. Known ones are not touched: that would wait for whoever claims
-- from them.
INSERT INTO postino.lanes (channel, lane, account)
SELECT DISTINCT channel, lane, account
FROM (SELECT channel, lane, account FROM postino.lane_hints ORDER BY late, id LIMIT 1000) AS hint
WHERE NOT EXISTS (SELECT FROM postino.lanes AS known WHERE known.channel = hint.channel AND known.lane = hint.lane)
ORDER BY channel, lane
ON CONFLICT DO NOTHING
