DELETE FROM postino_lane_hints WHERE channel = :channel AND lane = :lane
