-- name: open_gate
DELETE FROM postino.gates WHERE scope = :scope AND name = :name AND kind = :kind AND until_at > :now
RETURNING scope, name, kind, since_at, until_at, reason

-- name: get_gates
SELECT scope, name, kind, since_at, until_at, reason, repeat_count FROM postino.gates WHERE scope = :scope
  AND name = :name

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
    reason = :reason, by_hand = :by_hand,
    unhealthy_since_at = CASE WHEN :state = 'closed' THEN NULL ELSE coalesce(unhealthy_since_at, :now) END
WHERE service = :service

-- name: half_open_circuits
-- Changes an open circuit whose time is over only once: the first caller gets it back.
UPDATE postino.circuits SET state = 'half_open', since_at = :now
WHERE service = ANY (:services::text[]) AND state = 'open' AND until_at <= :now
RETURNING service

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

-- name: list_quota_usage
SELECT at, cost FROM postino.quota_usage
WHERE channel = :spent_on AND quota = :quota AND account = :account AND at >= :since_at ORDER BY at
