-- What is known now. An uncertain job is looked at again as soon as it may be: there is news.
INSERT INTO postino_lane_hints (channel, lane, account)
SELECT channel, lane, account FROM postino_jobs WHERE id = :job_id AND lane IS NOT NULL AND state = 'uncertain';
UPDATE postino_jobs
SET look_at = :look_at, run_at = CASE WHEN state = 'uncertain' THEN max(coalesce(:look_at, ''), :now) ELSE run_at END
WHERE id = :job_id
