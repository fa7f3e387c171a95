-- Which brands have something due on each channel. Where few lanes are due, they tell; else one probe of the index for
-- each brand there is, whatever their backlogs.
SELECT line.channel, found.brand, served.at AS served_at
FROM unnest(:channel::text[]) AS line (channel)
CROSS JOIN LATERAL (
    WITH RECURSIVE few AS MATERIALIZED (
        SELECT brand FROM postino.lane_due
        WHERE channel = line.channel AND queue = :queue AND due_at <= coalesce(:now::timestamptz, now())
        ORDER BY due_at LIMIT 100
    ), crowd AS MATERIALIZED (
        SELECT count(*) = 100 AS due FROM few
    ), each_brand AS (
        (SELECT brand, due_at FROM postino.lane_due
         WHERE channel = line.channel AND queue = :queue AND (SELECT due FROM crowd) ORDER BY brand, due_at LIMIT 1)
        UNION ALL
        SELECT next.brand, next.due_at
        FROM each_brand
        CROSS JOIN LATERAL (
            SELECT brand, due_at FROM postino.lane_due
            WHERE channel = line.channel AND queue = :queue AND brand > each_brand.brand ORDER BY brand, due_at LIMIT 1
        ) AS next
    )
    SELECT DISTINCT brand FROM few WHERE NOT (SELECT due FROM crowd)
    UNION ALL
    SELECT brand FROM each_brand WHERE due_at <= coalesce(:now::timestamptz, now())
) AS found
LEFT JOIN postino.served ON served.channel = line.channel AND served.brand = found.brand
