SELECT DISTINCT channel, lane FROM postino_lane_hints
