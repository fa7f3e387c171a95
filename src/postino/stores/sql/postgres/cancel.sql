-- Compare-and-set: only what is pending and has sent nothing. No row back means that something else came first.
WITH gone AS (
    DELETE FROM postino.jobs WHERE id = :id AND state = 'pending' AND NOT sent RETURNING *
), finished AS (
    INSERT INTO postino.finished (id, type, channel, queue, state, account, brand, user_id, parent_id, correlation_id,
        idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation, rescues,
        deferrals, sent, remote_id, last_error, dispatched_at, created_at, finished_at)
    SELECT id, type, channel, queue, 'cancelled', account, brand, user_id, parent_id, correlation_id,
        idempotency_key, payload, scheduled_at, run_at, attempts, max_attempts, backoff, time_limit, generation, rescues,
        deferrals, sent, remote_id, last_error, dispatched_at, created_at, coalesce(:now::timestamptz, now())
    FROM gone
), hint AS (
    -- Its lane is due later now, or not at all: unhinted it would waste the slots of claims that look at it first.
    INSERT INTO postino.lane_hints (channel, lane, account)
    SELECT channel, lane, account FROM gone WHERE lane IS NOT NULL
)
SELECT id FROM gone
