-- Which brands have something due on each channel: one probe of the index for each brand, whatever their backlogs.
SELECT line.channel, found.brand, served.at AS served_at
FROM unnest(:channel::text[]) AS line (channel)
CROSS JOIN LATERAL (
    WITH RECURSIVE each_brand AS (
        (SELECT brand, due_at FROM postino.lane_due
         WHERE channel = line.channel AND queue = :queue ORDER BY brand, due_at LIMIT 1)
        UNION ALL
        SELECT next.brand, next.due_at
        FROM each_brand
        CROSS JOIN LATERAL (
            SELECT brand, due_at FROM postino.lane_due
            WHERE channel = line.channel AND queue = :queue AND brand > each_brand.brand ORDER BY brand, due_at LIMIT 1
        ) AS next
    )
    SELECT brand FROM each_brand WHERE due_at <= coalesce(:now::timestamptz, now())
) AS found
LEFT JOIN postino.served ON served.channel = line.channel AND served.brand = found.brand
