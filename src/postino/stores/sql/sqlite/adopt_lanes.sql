INSERT INTO postino_lanes (channel, lane, account, brand)
SELECT channel, lane, account, brand FROM postino_lane_hints
WHERE id IN (SELECT max(id) FROM postino_lane_hints GROUP BY channel, lane)
ON CONFLICT (channel, lane) DO UPDATE SET brand = excluded.brand WHERE brand IS NOT excluded.brand
