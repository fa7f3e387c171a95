-- name: close_gate
-- Keeps since_at of a gate that is still closed, and never shortens its time.
INSERT INTO postino.gates (scope, name, kind, since_at, until_at, reason, repeat_count)
VALUES (:scope, :name, :kind, :now, :until_at, :reason, :repeat_count)
ON CONFLICT (scope, name, kind) DO UPDATE
SET since_at = CASE WHEN gates.until_at > :now THEN gates.since_at ELSE excluded.since_at END,
    until_at = greatest(gates.until_at, excluded.until_at), reason = excluded.reason,
      repeat_count = excluded.repeat_count
RETURNING scope, name, kind, since_at, until_at, reason

-- name: load_gates
-- All that a claim must know about gates, as of now: the poll before it is a moment old.
SELECT 'clock' AS kind, NULL AS name, NULL::int AS queue, :now AS due_at, NULL::text AS detail, NULL::bigint AS amount
UNION ALL
SELECT 'gate', name, NULL, until_at, row_to_json(gate)::text, NULL FROM postino.gates AS gate
WHERE scope IN ('all', 'queue', 'channel', 'brand') AND until_at > :now
UNION ALL
SELECT 'blackout', id::text, NULL, NULL, definition, NULL FROM postino.blackouts
UNION ALL
SELECT 'breaker', service, NULL, until_at, row_to_json(circuit)::text, NULL FROM postino.circuits AS circuit
WHERE strpos(service, '@') = 0 AND (state <> 'closed' OR failures <> '[]')
UNION ALL
SELECT 'cap', channel, NULL, NULL, NULL, coalesce(cap, default_cap) FROM postino.caps
  WHERE coalesce(cap, default_cap) IS NOT NULL

-- name: set_default_caps
-- An unchanged row is not touched: a claim may hold its lock.
INSERT INTO postino.caps AS known (channel, default_cap)
SELECT * FROM unnest(:channel::text[], :default_cap::int[]) AS c (channel, default_cap) ORDER BY channel
ON CONFLICT (channel) DO UPDATE SET default_cap = excluded.default_cap
WHERE known.default_cap IS DISTINCT FROM excluded.default_cap

-- name: lock_circuit
-- The first failure inserts the row and, for a channel, the row of caps that claims lock while they count probes.
WITH capped AS (
    INSERT INTO postino.caps (channel) SELECT :service WHERE strpos(:service, '@') = 0 ON CONFLICT DO NOTHING
), made AS (
    INSERT INTO postino.circuits (service, state, failures, trips, probes, manual)
      VALUES (:service, 'closed', '[]', 0, 1, false)
    ON CONFLICT (service) DO UPDATE SET service = excluded.service
    RETURNING *
)
SELECT made.*, :now AS now_at FROM made

-- name: insert_configured_blackouts
INSERT INTO postino.blackouts (id, definition, configured, created_at)
SELECT b.id, b.definition, true, :now FROM unnest(:id::uuid[], :definition::text[]) AS b (id, definition)
ON CONFLICT (id) DO NOTHING
RETURNING definition

-- name: find_full_quotas
-- Quotas without room for the call. What an earlier try of the same call reserved does not count against it.
SELECT want.quota
FROM unnest(:quota::text[], :account::text[], :cost::int[], :most::int[], :since_at::timestamptz[])
    AS want (quota, account, cost, most, since_at)
WHERE want.most < want.cost + (
    SELECT coalesce(sum(used.cost), 0) FROM postino.quota_usage AS used
    WHERE used.channel = :spent_on AND used.quota = want.quota AND used.account = want.account
      AND used.at >= want.since_at
      AND NOT (used.job_id = :job_id AND used.step = :step AND used.number = :number)
)

-- name: insert_quota_usage
INSERT INTO postino.quota_usage (job_id, step, number, channel, account, quota, cost, at)
SELECT :job_id, :step, :number, :spent_on, want.account, want.quota, want.cost, :now
FROM unnest(:quota::text[], :account::text[], :cost::int[]) AS want (quota, account, cost)
ON CONFLICT (job_id, step, number, quota) DO UPDATE SET at = excluded.at

-- name: start_probes
-- Of the claims that find an open circuit's time over, one may send probes. Until `until_at`, or until a result changes
-- the circuit, it is closed to all others. Skips a circuit that a result is changing now.
WITH expired AS (
    SELECT circuit.service, input.seconds FROM unnest(:service::text[], :seconds::float8[]) AS input (service, seconds)
    JOIN postino.circuits AS circuit ON circuit.service = input.service
    WHERE circuit.state <> 'closed' AND circuit.until_at <= :now
    ORDER BY circuit.service FOR UPDATE OF circuit SKIP LOCKED
)
UPDATE postino.circuits AS circuit
SET state = 'half_open', since_at = CASE WHEN circuit.state = 'open' THEN :now ELSE circuit.since_at END,
    until_at = :now + make_interval(secs => expired.seconds)
FROM expired WHERE circuit.service = expired.service
RETURNING circuit.service, circuit.probes, circuit.since_at = :now AS opened
