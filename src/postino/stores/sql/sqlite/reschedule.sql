INSERT INTO postino_lane_hints (channel, lane, account)
SELECT channel, lane, account FROM postino_jobs WHERE id = :id AND state = 'pending' AND NOT sent AND lane IS NOT NULL;
UPDATE postino_jobs
SET scheduled_at = coalesce(:run_at, :now), run_at = max(coalesce(:run_at, :now), :now), dispatched_at = NULL, deferred = NULL,
    -- Said of a time, it does not hold for another.
    regardless = :regardless OR (regardless AND :run_at IS NULL)
WHERE id = :id AND state = 'pending' AND NOT sent
RETURNING id
