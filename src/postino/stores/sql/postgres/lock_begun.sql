-- What has begun to go out and may go on, or may not wait for the end of a blackout: the first of each lane. A lane that
-- somebody else holds is left to them.
SELECT lane.channel, lane.lane, wanted.id
FROM postino.lanes AS lane
JOIN (
    SELECT DISTINCT ON (begun.channel, begun.lane) begun.channel, begun.lane, begun.id
    FROM unnest(:channel::text[], :share::int[]) AS line (channel, share)
    CROSS JOIN LATERAL (
        SELECT job.channel, job.lane, job.id, job.run_at FROM postino.jobs AS job
        WHERE job.channel = line.channel AND job.state <> 'running' AND job.run_at IS NOT NULL AND job.lane IS NOT NULL AND (job.sent OR job.regardless)
          AND job.run_at <= coalesce(:now::timestamptz, now())
          AND NOT EXISTS (
              SELECT FROM postino.gates AS gate
              WHERE gate.scope = 'account' AND gate.name = job.account AND (NOT job.sent OR gate.kind = ANY (:kinds::text[]))
                AND gate.until_at > coalesce(:now::timestamptz, now())
          ) AND NOT EXISTS (
              SELECT FROM postino.jobs AS busy
              WHERE busy.channel = job.channel AND busy.lane = job.lane AND busy.state = 'running' AND busy.account IS NOT NULL
          )
          AND NOT EXISTS (
              SELECT FROM postino.jobs AS doubt
              WHERE doubt.channel = job.channel AND doubt.lane = job.lane AND doubt.state = 'uncertain' AND doubt.account IS NOT NULL
                AND doubt.look_at > coalesce(:now::timestamptz, now()) AND doubt.id <> job.id
          )
          AND (job.sent OR NOT :shut_all AND job.channel <> ALL (:shut_channel::text[]) AND job.queue <> ALL (:shut_queue::int[])
            AND (job.brand IS NULL OR job.brand <> ALL (:shut_brand::text[])))
        ORDER BY job.run_at
        LIMIT line.share
    ) AS begun
    ORDER BY begun.channel, begun.lane, begun.run_at, begun.id
) AS wanted ON wanted.channel = lane.channel AND wanted.lane = lane.lane
FOR UPDATE OF lane SKIP LOCKED
