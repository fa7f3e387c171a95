WITH moved AS (
    UPDATE postino.jobs
    SET scheduled_at = coalesce(:run_at::timestamptz, :now::timestamptz, now()),
        run_at = greatest(:run_at::timestamptz, coalesce(:now::timestamptz, now())), dispatched_at = NULL, deferred = NULL,
        -- Said of a time, it does not hold for another.
        regardless = :regardless::boolean OR (regardless AND :run_at::timestamptz IS NULL)
    WHERE id = :id AND state = 'pending' AND NOT sent
    RETURNING id, channel, lane, account, brand
), hint AS (
    INSERT INTO postino.lane_hints (channel, lane, account)
    SELECT channel, lane, account FROM moved WHERE lane IS NOT NULL
)
SELECT id FROM moved
