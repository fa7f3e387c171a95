-- name: close_gate
-- Closed since it was first closed; a longer time is never cut short.
INSERT INTO postino.gates (scope, name, kind, since_at, until_at, reason, times)
VALUES (:scope, :name, :kind, :now, :until_at, :reason, :times)
ON CONFLICT (scope, name, kind) DO UPDATE
SET since_at = CASE WHEN gates.until_at > :now THEN gates.since_at ELSE excluded.since_at END,
    until_at = greatest(gates.until_at, excluded.until_at), reason = excluded.reason, times = excluded.times
RETURNING scope, name, kind, since_at, until_at, reason

-- name: load_gates
-- What a claim must know, as it is now: the look before it is a moment old.
SELECT 'clock' AS kind, NULL AS name, NULL::int AS queue, :now AS due_at, NULL::text AS detail, NULL::bigint AS amount
UNION ALL
SELECT 'gate', name, NULL, until_at, row_to_json(gate)::text, NULL FROM postino.gates AS gate
WHERE scope IN ('all', 'queue', 'channel', 'brand') AND until_at > :now
UNION ALL
SELECT 'blackout', id::text, NULL, NULL, told, NULL FROM postino.blackouts
UNION ALL
SELECT 'breaker', service, NULL, until_at, row_to_json(circuit)::text, NULL FROM postino.circuits AS circuit
WHERE state <> 'closed' OR failures <> '[]'
UNION ALL
SELECT 'cap', channel, NULL, NULL, NULL, coalesce(most, usual) FROM postino.caps WHERE coalesce(most, usual) IS NOT NULL

-- name: set_default_caps
-- Not touched unless it changes: a claim may hold it.
INSERT INTO postino.caps AS known (channel, usual)
SELECT * FROM unnest(:channel::text[], :usual::int[]) AS c (channel, usual) ORDER BY channel
ON CONFLICT (channel) DO UPDATE SET usual = excluded.usual WHERE known.usual IS DISTINCT FROM excluded.usual

-- name: lock_circuit
-- Its first trouble makes its row, and one to lock when its probes are counted.
WITH capped AS (
    INSERT INTO postino.caps (channel) VALUES (:service) ON CONFLICT DO NOTHING
), made AS (
    INSERT INTO postino.circuits (service, state, failures, trips, probes, by_hand) VALUES (:service, 'closed', '[]', 0, 1, false)
    ON CONFLICT (service) DO UPDATE SET service = excluded.service
    RETURNING *
)
SELECT made.*, :now AS now_at FROM made

-- name: insert_configured_blackouts
INSERT INTO postino.blackouts (id, told, usual, created_at)
SELECT b.id, b.told, true, :now FROM unnest(:id::uuid[], :told::text[]) AS b (id, told)
ON CONFLICT (id) DO NOTHING
RETURNING told

-- name: find_full_quotas
-- Which quotas have no room for what is wanted. What this very call reserved before, when it could not be made, is its own.
SELECT want.quota
FROM unnest(:quota::text[], :account::text[], :cost::int[], :most::int[], :since_at::timestamptz[])
    AS want (quota, account, cost, most, since_at)
WHERE want.most < want.cost + (
    SELECT coalesce(sum(spent.cost), 0) FROM postino.spent
    WHERE spent.channel = :spent_on AND spent.quota = want.quota AND spent.account = want.account AND spent.at >= want.since_at
      AND NOT (spent.job_id = :job_id AND spent.step = :step AND spent.number = :number)
)

-- name: insert_quota_usage
INSERT INTO postino.spent (job_id, step, number, channel, account, quota, cost, at)
SELECT :job_id, :step, :number, :spent_on, want.account, want.quota, want.cost, :now
FROM unnest(:quota::text[], :account::text[], :cost::int[]) AS want (quota, account, cost)
ON CONFLICT (job_id, step, number, quota) DO UPDATE SET at = excluded.at
