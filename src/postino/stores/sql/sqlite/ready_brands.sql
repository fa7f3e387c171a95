-- Which brands have something due on the channel. Where few lanes are due, they tell; else one probe of the index for
-- each brand there is, whatever their backlogs.
WITH RECURSIVE few AS MATERIALIZED (
    SELECT brand FROM postino_lane_due WHERE channel = :channel AND queue = :queue AND due_at <= :now ORDER BY due_at LIMIT 100
), crowd AS MATERIALIZED (
    SELECT count(*) = 100 AS due FROM few
), each_brand (brand) AS (
    SELECT * FROM (
        SELECT brand FROM postino_lane_due
        WHERE channel = :channel AND queue = :queue AND (SELECT due FROM crowd) ORDER BY brand LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT due.brand FROM postino_lane_due AS due
        WHERE due.channel = :channel AND due.queue = :queue AND due.brand > each_brand.brand ORDER BY due.brand LIMIT 1
    )
    FROM each_brand WHERE each_brand.brand IS NOT NULL
), found (brand) AS (
    SELECT DISTINCT brand FROM few WHERE NOT (SELECT due FROM crowd)
    UNION ALL
    SELECT each_brand.brand FROM each_brand
    WHERE EXISTS (
        SELECT 1 FROM postino_lane_due AS due
        WHERE due.channel = :channel AND due.queue = :queue AND due.brand = each_brand.brand AND due.due_at <= :now
    )
)
SELECT :channel AS channel, found.brand, served.at AS served_at
FROM found
LEFT JOIN postino_served AS served ON served.channel = :channel AND served.brand = found.brand
