-- Lanes are made, and learn their brand, when the first hint about them is read. Known ones are not touched: that
-- would wait for whoever claims from them.
INSERT INTO postino.lanes (channel, lane, account, brand)
SELECT DISTINCT ON (hint.channel, hint.lane) hint.channel, hint.lane, hint.account, hint.brand
FROM postino.lane_hints AS hint
LEFT JOIN postino.lanes AS known ON known.channel = hint.channel AND known.lane = hint.lane
WHERE known.lane IS NULL OR known.brand IS DISTINCT FROM hint.brand
ORDER BY hint.channel, hint.lane, hint.id DESC
ON CONFLICT (channel, lane) DO UPDATE SET brand = excluded.brand
