-- name: open_gate
DELETE FROM postino.gates WHERE scope = :scope AND name = :name AND kind = :kind AND until_at > :now
RETURNING scope, name, kind, since_at, until_at, reason

-- name: get_gates
SELECT scope, name, kind, since_at, until_at, reason, repeat_count FROM postino.gates WHERE scope = :scope
  AND name = :name

-- name: find_success
-- Whether the network accepted anything since then, of the account or the channel that the cooldown is for: a post,
-- another job, or a part of a post that runs now. Asked after a rate limit only, so that publishing costs nothing.
SELECT 1 AS found
WHERE EXISTS (
    SELECT 1 FROM postino.posts WHERE phase = 'completed' AND account = :account AND ended_at > :since_at
) OR EXISTS (
    SELECT 1 FROM postino.finished_jobs WHERE finished_at > :since_at AND state = 'completed'
      AND (account = :account OR channel = :on_channel)
) OR EXISTS (
    SELECT 1 FROM postino.jobs AS job JOIN postino.receipts AS receipt ON receipt.job_id = job.id
    WHERE job.state = 'running' AND (job.account = :account OR job.channel = :on_channel)
      AND receipt.verdict = 'accepted' AND receipt.at > :since_at
)

-- name: list_gates
SELECT scope, name, kind, since_at, until_at, reason FROM postino.gates ORDER BY scope, name, kind

-- name: set_cap
INSERT INTO postino.caps (channel, cap) VALUES (:channel, :cap)
ON CONFLICT (channel) DO UPDATE SET cap = excluded.cap
RETURNING channel, coalesce(cap, default_cap) AS cap

-- name: list_circuits
SELECT * FROM postino.circuits ORDER BY service

-- name: update_circuit
UPDATE postino.circuits
SET state = :state, since_at = :since_at, until_at = :until_at, failures = :failures, trips = :trips, probes = :probes,
    reason = :reason, manual = :manual,
    unhealthy_since_at = CASE WHEN :state = 'closed' THEN NULL ELSE coalesce(unhealthy_since_at, :now) END
WHERE service = :service

-- name: half_open_circuits
-- Changes an open circuit whose time is over only once: the first caller gets it back. Skips one that another claim, or
-- a result, is changing now: waiting for a worker that is frozen would stop all the others.
UPDATE postino.circuits SET state = 'half_open', since_at = :now
WHERE service IN (
    SELECT service FROM postino.circuits
    WHERE service = ANY (:services::text[]) AND state = 'open' AND until_at <= :now
    ORDER BY service FOR UPDATE SKIP LOCKED
)
RETURNING service

-- name: get_circuit
SELECT :now AS now_at, circuit.* FROM (SELECT 1 AS one) AS always
LEFT JOIN postino.circuits AS circuit ON circuit.service = :service

-- name: list_account_circuits
-- The circuits that hold the jobs of these accounts, unless they are closed.
SELECT * FROM postino.account_circuits WHERE account = ANY (:accounts::text[]) ORDER BY account

-- name: has_service
SELECT 1 AS found WHERE EXISTS (SELECT 1 FROM postino.accounts WHERE service = :service)

-- name: list_service_circuits
SELECT * FROM postino.circuits WHERE service IN (
    SELECT service FROM postino.account_circuits
) ORDER BY service

-- name: count_service_accounts
SELECT service, count(*) AS accounts FROM postino.accounts WHERE service = ANY (:services::text[]) GROUP BY service

-- name: count_probes
-- Jobs of these services that run, or of which a call may still be under way. Runs under the lock of `start_probes`, in
-- a later statement.
SELECT service, count(*) AS running, min(free_at) AS free_at FROM (
    SELECT account.service, CASE WHEN job.state <> 'running' THEN job.lookup_at END AS free_at
    FROM postino.jobs AS job
    JOIN postino.accounts AS account ON account.id = job.account AND account.network = job.channel
    WHERE job.state = 'running' AND account.service = ANY (:services::text[])
    UNION ALL
    SELECT account.service, job.lookup_at FROM postino.accounts AS account
    CROSS JOIN postino.jobs AS job
    WHERE account.service = ANY (:services::text[]) AND job.channel = account.network AND job.lane = '@' || account.id
      AND job.state = 'uncertain' AND job.lane IS NOT NULL AND job.lookup_at > :now
) AS probe
GROUP BY service

-- name: advance_probe
-- A killed worker's probe counts until its call can no longer be under way. The next one does not wait longer.
UPDATE postino.circuits SET until_at = :free_at::timestamptz
WHERE service = :service AND state = 'half_open' AND until_at > :free_at::timestamptz

-- name: delete_unused_circuits
-- Circuits of services that no account uses, or that have been closed without a failure for a day. Those of channels
-- stay.
DELETE FROM postino.circuits WHERE service LIKE '%@%' AND (
    state = 'closed' AND failures = '[]' AND (since_at IS NULL OR since_at <= :now - make_interval(secs => :seconds))
    OR NOT EXISTS (SELECT 1 FROM postino.accounts AS account WHERE account.service = postino.circuits.service)
)

-- name: list_blackouts
SELECT id, definition FROM postino.blackouts ORDER BY created_at, id

-- name: insert_blackout
INSERT INTO postino.blackouts (id, definition, created_at) VALUES (:id, :definition, :now)

-- name: delete_blackout
DELETE FROM postino.blackouts WHERE id = :id RETURNING id, definition

-- name: delete_configured_blackouts
DELETE FROM postino.blackouts WHERE configured AND id <> ALL (:ids::uuid[]) RETURNING definition

-- name: lock_quotas
-- Serialises the reservations of a channel: all its accounts may share a quota.
SELECT pg_advisory_xact_lock(hashtext('postino.quota ' || :channel))

-- name: delete_quota_usage
DELETE FROM postino.quota_usage WHERE job_id = :job_id AND step = :step AND number = :number
  AND NOT EXISTS (SELECT 1 FROM postino.jobs WHERE id = :job_id AND state = 'running' AND token <> :token)

-- name: list_quota_usage
SELECT at, cost FROM postino.quota_usage
WHERE channel = :spent_on AND quota = :quota AND account = :account AND at >= :since_at ORDER BY at
