-- Which brands have something due on the channel: one probe of the index for each brand, whatever their backlogs.
WITH RECURSIVE each_brand (brand) AS (
    SELECT * FROM (SELECT brand FROM postino_lane_due WHERE channel = :channel AND queue = :queue ORDER BY brand LIMIT 1)
    UNION ALL
    SELECT (
        SELECT due.brand FROM postino_lane_due AS due
        WHERE due.channel = :channel AND due.queue = :queue AND due.brand > each_brand.brand ORDER BY due.brand LIMIT 1
    )
    FROM each_brand WHERE each_brand.brand IS NOT NULL
)
SELECT :channel AS channel, each_brand.brand, served.at AS served_at
FROM each_brand
LEFT JOIN postino_served AS served ON served.channel = :channel AND served.brand = each_brand.brand
WHERE EXISTS (
    SELECT 1 FROM postino_lane_due AS due
    WHERE due.channel = :channel AND due.queue = :queue AND due.brand = each_brand.brand AND due.due_at <= :now
)
