-- Back to pending, or uncertain; fenced by the token like settle_finished.
WITH input AS (
    SELECT * FROM unnest(
        :id::uuid[], :token::uuid[], :state::text[], :run_at::timestamptz[], :refund::boolean[], :rescued::boolean[],
        :deferred::text[], :limited::boolean[], :error::text[], :recorded::boolean[], :number::int[], :started_at::timestamptz[], :worker::text[],
        :outcome::text[], :error_class::text[], :message::text[], :trace::text[], :event::text[], :data::text[]
    ) AS i (id, token, state, run_at, refund, rescued, deferred, limited, error, recorded, number, started_at, worker,
            outcome, error_class, message, trace, event, data)
), back AS (
    UPDATE postino.jobs AS job
    SET state = input.state, run_at = input.run_at, attempts = job.attempts - input.refund::int,
        rescues = job.rescues + input.rescued::int, deferrals = job.deferrals + (input.deferred IS NOT NULL)::int,
        limited = job.limited + input.limited::int, deferred = input.deferred, last_error = coalesce(input.error, job.last_error),
        claimed_by = NULL, claimed_at = NULL, token = NULL, deadline_at = NULL, dispatched_at = NULL
    FROM input
    WHERE job.id = input.id AND job.token IS NOT DISTINCT FROM input.token AND job.state <> 'pending'
    RETURNING job.channel, job.lane, job.account, job.brand, job.generation, input.*
), attempt AS (
    INSERT INTO postino.attempts (job_id, generation, number, started_at, ended_at, worker, outcome, error_class, message, trace)
    SELECT id, generation, number, started_at, coalesce(:now::timestamptz, now()), worker, outcome, error_class, message, trace
    FROM back WHERE recorded
), hint AS (
    INSERT INTO postino.lane_hints (channel, lane, account)
    SELECT channel, lane, account FROM back WHERE lane IS NOT NULL
), event AS (
    INSERT INTO postino.events (at, type, job_id, data)
    SELECT coalesce(:now::timestamptz, now()), event, id, data FROM back WHERE event IS NOT NULL
)
SELECT id FROM back
