-- name: close_gate
-- Keeps since_at of a gate that is still closed, and never shortens its time.
INSERT INTO postino.gates (scope, name, kind, since_at, until_at, reason, repeat_count)
VALUES (:scope, :name, :kind, :now, :until_at, :reason, :repeat_count)
ON CONFLICT (scope, name, kind) DO UPDATE
SET since_at = CASE WHEN until_at > :now THEN since_at ELSE excluded.since_at END,
    until_at = max(until_at, excluded.until_at), reason = excluded.reason, repeat_count = excluded.repeat_count
RETURNING scope, name, kind, since_at, until_at, reason

-- name: load_gates
-- All that a claim must know about gates, as of now: the poll before it is a moment old.
SELECT 'clock' AS kind, NULL AS name, NULL AS queue, :now AS due_at, NULL AS detail, NULL AS amount
UNION ALL
SELECT 'gate', name, NULL, until_at,
       json_object('scope', scope, 'name', name, 'kind', kind, 'since_at', since_at, 'until_at', until_at, 'reason',
         reason), NULL
FROM postino.gates WHERE scope IN ('all', 'queue', 'channel', 'brand') AND until_at > :now
UNION ALL
SELECT 'blackout', id, NULL, NULL, definition, NULL FROM postino.blackouts
UNION ALL
SELECT 'breaker', service, NULL, until_at,
       json_object('service', service, 'state', state, 'since_at', since_at, 'until_at', until_at, 'failures', failures,
                   'trips', trips, 'probes', probes, 'reason', reason, 'manual', manual), NULL
FROM postino.circuits WHERE instr(service, '@') = 0 AND (state <> 'closed' OR failures <> '[]')
UNION ALL
SELECT 'cap', channel, NULL, NULL, NULL, coalesce(cap, default_cap) FROM postino.caps
  WHERE coalesce(cap, default_cap) IS NOT NULL

-- name: set_default_caps
INSERT INTO postino.caps (channel, default_cap) VALUES (:channel, :default_cap)
ON CONFLICT (channel) DO UPDATE SET default_cap = excluded.default_cap

-- name: lock_circuit
-- The first failure inserts the row and, for a channel, the row of caps that claims lock while they count probes.
INSERT INTO postino.caps (channel) SELECT :service WHERE instr(:service, '@') = 0 ON CONFLICT DO NOTHING;
INSERT INTO postino.circuits (service, state, failures, trips, probes, manual)
  VALUES (:service, 'closed', '[]', 0, 1, 0)
ON CONFLICT (service) DO UPDATE SET service = excluded.service
RETURNING *, :now AS now_at

-- name: insert_configured_blackouts
INSERT INTO postino.blackouts (id, definition, configured, created_at) VALUES (:id, :definition, 1, :now)
ON CONFLICT (id) DO NOTHING
RETURNING definition

-- name: find_full_quotas
-- Quotas without room for the call. What an earlier try of the same call reserved does not count against it.
SELECT :quota AS quota
WHERE :most < :cost + (
    SELECT coalesce(sum(cost), 0) FROM postino.quota_usage
    WHERE channel = :spent_on AND quota = :quota AND account = :account AND at >= :since_at
      AND NOT (job_id = :job_id AND step = :step AND number = :number)
)

-- name: insert_quota_usage
INSERT INTO postino.quota_usage (job_id, step, number, channel, account, quota, cost, at)
VALUES (:job_id, :step, :number, :spent_on, :account, :quota, :cost, :now)
ON CONFLICT (job_id, step, number, quota) DO UPDATE SET at = excluded.at

-- name: start_probes
-- Of the claims that find an open circuit's time over, one may send probes. Until `until_at`, or until a result changes
-- the circuit, it is closed to all others.
UPDATE postino.circuits
SET state = 'half_open', since_at = CASE WHEN state = 'open' THEN :now ELSE since_at END,
    until_at = strftime('%Y-%m-%dT%H:%M:%f', :now, :seconds || ' seconds') || '000Z'
WHERE service = :service AND state <> 'closed' AND until_at <= :now
RETURNING service, probes, since_at = :now AS opened
