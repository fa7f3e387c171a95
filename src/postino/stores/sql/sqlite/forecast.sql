-- name: load_jobs
-- Jobs as they are in another database, for a forecast in memory.
INSERT INTO postino.jobs (id, type, channel, queue, state, lane, account, brand, idempotency_key, payload,
  scheduled_at, run_at,
                          attempts, generation, rescues, may_be_live, ignore_blackouts, lookup_at, claimed_by,
                            claimed_at, token, created_at)
VALUES (:id, :type, :channel, :queue, :state, :lane, :account, :brand, :id, '', :scheduled_at, :run_at,
        :attempts, :generation, :rescues, :may_be_live, :ignore_blackouts, :lookup_at, :claimed_by, :claimed_at,
          :token, :created_at);
INSERT INTO postino.channels (type, channel) VALUES (:type, :channel) ON CONFLICT DO NOTHING

-- name: load_accounts
-- Only the service of each account, for a forecast in memory.
INSERT INTO postino.accounts (id, network, handle, base_url, service, sealed, created_at)
VALUES (:id, :network, '', '', :service, '', :now)

-- name: load_posts
-- Only the deadline of each post, for a forecast in memory.
INSERT INTO postino.posts (id, content_id, network, account, fingerprint, publish_until_at, created_at)
VALUES (:id, '', :channel, :account, '', :publish_until_at, :now)

-- name: load_brand_turns
INSERT INTO postino.brand_turns (channel, brand, at) VALUES (:channel, :brand, :at)

-- name: load_quota_usage
INSERT INTO postino.quota_usage (job_id, step, number, channel, account, quota, cost, at)
VALUES ('elsewhere', '', :number, :spent_on, :account, :quota, :cost, :at)
