-- The key decides: if it is already taken, nothing is written, and the caller reads its job afterwards. changes() tells
-- what the statement before wrote: the id would not, because a call repeated after a lost answer brings the same one.
INSERT INTO postino_keys (channel, key, job_id) SELECT :channel, :key, :id WHERE :key IS NOT NULL ON CONFLICT DO NOTHING;
INSERT INTO postino_jobs (id, type, channel, queue, state, lane, account, brand, user_id, parent_id, correlation_id,
                          idempotency_key, payload, scheduled_at, run_at, max_attempts, backoff, time_limit, created_at)
SELECT :id, :type, :channel, :queue, 'pending', :lane, :account, :brand, :user_id, :parent_id, :correlation_id,
       coalesce(:key, :id), :payload, coalesce(:run_at, :now), max(coalesce(:run_at, :now), :now), :max_attempts,
       :backoff, :time_limit, :now
WHERE :key IS NULL OR changes() = 1
RETURNING id, created_at;
INSERT INTO postino_lane_hints (channel, lane, account)
SELECT :channel, :lane, :account WHERE :lane IS NOT NULL AND changes() = 1;
INSERT INTO postino_channels (channel) VALUES (:channel) ON CONFLICT DO NOTHING
