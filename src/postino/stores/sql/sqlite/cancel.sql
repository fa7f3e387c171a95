-- Compare-and-set: only what is pending and has sent nothing. No row back means that something else came first.
INSERT INTO postino_finished (id, type, channel, queue, state, account, brand, user_id, parent_id, correlation_id,
    idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation, rescues,
    deferrals, sent, remote_id, last_error, dispatched_at, created_at, finished_at)
SELECT id, type, channel, queue, 'cancelled', account, brand, user_id, parent_id, correlation_id,
    idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation, rescues,
    deferrals, sent, remote_id, last_error, dispatched_at, created_at, :now
FROM postino_jobs WHERE id = :id AND state = 'pending' AND NOT sent;
-- Its lane is due later now, or not at all: unhinted it would waste the slots of claims that look at it first.
INSERT INTO postino_lane_hints (channel, lane, account)
SELECT channel, lane, account FROM postino_jobs
WHERE id = :id AND state = 'pending' AND NOT sent AND lane IS NOT NULL;
DELETE FROM postino_jobs WHERE id = :id AND state = 'pending' AND NOT sent RETURNING id
