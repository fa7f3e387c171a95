SELECT DISTINCT channel, lane FROM (SELECT channel, lane FROM postino_lane_hints ORDER BY late, id LIMIT 1000)
