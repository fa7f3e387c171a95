DELETE FROM postino.lane_hints AS hint
USING unnest(:channel::text[], :lane::text[]) AS line (channel, lane)
WHERE hint.channel = line.channel AND hint.lane = line.lane
