-- Lanes that are due and may not be claimed from: a blackout has begun. Once looked at again they are in nobody's way.
SELECT lane.channel, lane.lane
FROM postino.lanes AS lane
JOIN (
    SELECT due.channel, due.lane
    FROM unnest(:channel::text[]) AS line (channel)
    CROSS JOIN unnest(:shut_brand::text[]) AS shut (brand)
    CROSS JOIN LATERAL (
        SELECT channel, lane FROM postino.lane_due
        WHERE channel = line.channel AND queue = :queue AND brand = shut.brand AND due_at <= coalesce(:now::timestamptz, now())
        ORDER BY due_at LIMIT 500
    ) AS due
    UNION
    SELECT due.channel, due.lane
    FROM unnest(:channel::text[]) AS line (channel)
    CROSS JOIN unnest(:shut_account::text[]) AS shut (account)
    JOIN postino.lane_due AS due ON due.channel = line.channel AND due.lane = '@' || shut.account AND due.queue = :queue
    WHERE due.due_at <= coalesce(:now::timestamptz, now())
) AS shut ON shut.channel = lane.channel AND shut.lane = lane.lane
FOR UPDATE OF lane SKIP LOCKED
