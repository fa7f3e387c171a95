-- What is known now. An uncertain job is looked at again at once: there is news.
WITH news AS (
    UPDATE postino.jobs
    SET look_at = :look_at, run_at = CASE WHEN state = 'uncertain' THEN coalesce(:now::timestamptz, now()) ELSE run_at END
    WHERE id = :job_id
    RETURNING channel, lane, account, state
)
INSERT INTO postino.lane_hints (channel, lane, account)
SELECT channel, lane, account FROM news WHERE lane IS NOT NULL AND state = 'uncertain'
