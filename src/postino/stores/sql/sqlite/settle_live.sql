-- Back to pending, or uncertain; fenced by the token like settle_finished.
INSERT INTO postino_attempts (job_id, generation, number, started_at, ended_at, worker, outcome, error_class, message, trace)
SELECT id, generation, :number, :started_at, :now, :worker, :outcome, :error_class, :message, :trace
FROM postino_jobs WHERE id = :id AND token IS :token AND state <> 'pending' AND :recorded;
INSERT INTO postino_lane_hints (channel, lane, account)
SELECT channel, lane, account FROM postino_jobs
WHERE id = :id AND token IS :token AND state <> 'pending' AND lane IS NOT NULL;
INSERT INTO postino_events (at, type, job_id, data)
SELECT :now, :event, id, :data FROM postino_jobs
WHERE id = :id AND token IS :token AND state <> 'pending' AND :event IS NOT NULL;
UPDATE postino_jobs
SET state = :state, run_at = :run_at, attempts = attempts - :refund, rescues = rescues + :rescued,
    deferrals = deferrals + (:deferred IS NOT NULL), limited = limited + :limited, deferred = :deferred, last_error = coalesce(:error, last_error),
    claimed_by = NULL, claimed_at = NULL, token = NULL, deadline_at = NULL, dispatched_at = NULL
WHERE id = :id AND token IS :token AND state <> 'pending'
RETURNING id
