-- Ready lanes, the longest waiting first. A lane of a paused brand or account is one skipped row, whatever its backlog.
SELECT ready.channel, ready.lane, ready.account
FROM unnest(:channel::text[], :share::int[]) AS line (channel, share)
CROSS JOIN LATERAL (
    SELECT lane.channel, lane.lane, lane.account
    FROM postino.lane_due AS due
    JOIN postino.lanes AS lane ON lane.channel = due.channel AND lane.lane = due.lane
    WHERE due.channel = line.channel AND due.queue = :queue AND due.due_at <= coalesce(:now::timestamptz, now())
      AND (due.brand IS NULL OR due.brand <> ALL (:brands::text[]))
      AND (lane.account IS NULL OR lane.account <> ALL (:accounts::text[]))
    ORDER BY due.due_at
    LIMIT line.share
    FOR UPDATE OF lane SKIP LOCKED
) AS ready
