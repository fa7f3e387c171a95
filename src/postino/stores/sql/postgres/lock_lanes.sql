-- Ready lanes of each brand, the longest waiting first.
SELECT ready.channel, ready.brand, ready.lane, ready.account
FROM unnest(:channel::text[], :brand::text[], :share::int[]) AS line (channel, brand, share)
CROSS JOIN LATERAL (
    SELECT lane.channel, due.brand, lane.lane, lane.account
    FROM postino.lane_due AS due
    JOIN postino.lanes AS lane ON lane.channel = due.channel AND lane.lane = due.lane
    WHERE due.channel = line.channel AND due.queue = :queue AND due.brand = line.brand
      AND due.due_at <= coalesce(:now::timestamptz, now())
      AND NOT EXISTS (
          SELECT FROM postino.gates AS gate
          WHERE gate.scope = 'account' AND gate.name = lane.account AND gate.until_at > coalesce(:now::timestamptz, now())
      )
    ORDER BY due.due_at
    LIMIT line.share
    FOR UPDATE OF lane SKIP LOCKED
) AS ready
