INSERT INTO postino_lanes (channel, lane, account)
SELECT DISTINCT channel, lane, account FROM postino_lane_hints WHERE true
ON CONFLICT DO NOTHING
