-- As it is elsewhere, and in nobody's way: for rehearsals only.
INSERT INTO postino_jobs (id, type, channel, queue, state, lane, account, brand, idempotency_key, payload, scheduled_at, run_at,
                          attempts, generation, rescues, sent, regardless, look_at, claimed_by, claimed_at, token, created_at)
VALUES (:id, :type, :channel, :queue, :state, :lane, :account, :brand, :id, '', :scheduled_at, :run_at,
        :attempts, :generation, :rescues, :sent, :regardless, :look_at, :claimed_by, :claimed_at, :token, :created_at);
INSERT INTO postino_lane_hints (channel, lane, account) SELECT :channel, :lane, :account
WHERE :lane IS NOT NULL AND NOT EXISTS (SELECT 1 FROM postino_lane_hints WHERE channel = :channel AND lane = :lane);
INSERT INTO postino_channels (channel) VALUES (:channel) ON CONFLICT DO NOTHING
