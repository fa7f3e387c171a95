-- What is known now. An uncertain job is looked at again as soon as it may be: there is news.
WITH news AS (
    UPDATE postino.jobs
    SET look_at = :look_at::timestamptz, run_at = CASE WHEN state = 'uncertain'
        THEN greatest(:look_at::timestamptz, coalesce(:now::timestamptz, now())) ELSE run_at END
    WHERE id = :job_id
    RETURNING channel, lane, account, state
)
INSERT INTO postino.lane_hints (channel, lane, account)
SELECT channel, lane, account FROM news WHERE lane IS NOT NULL AND state = 'uncertain'
