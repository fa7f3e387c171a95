-- What a claim must know, as it is now: the look before it is a moment old.
SELECT 'clock' AS kind, NULL AS name, NULL::int AS queue, coalesce(:now::timestamptz, now()) AS due_at, NULL::text AS detail, NULL::bigint AS amount
UNION ALL
SELECT 'gate', name, NULL, until_at, row_to_json(gate)::text, NULL FROM postino.gates AS gate
WHERE scope IN ('all', 'queue', 'channel', 'brand') AND until_at > coalesce(:now::timestamptz, now())
UNION ALL
SELECT 'blackout', id::text, NULL, NULL, told, NULL FROM postino.blackouts
UNION ALL
SELECT 'breaker', service, NULL, until_at, row_to_json(circuit)::text, NULL FROM postino.circuits AS circuit
WHERE state <> 'closed' OR failures <> '[]'
UNION ALL
SELECT 'cap', channel, NULL, NULL, NULL, coalesce(most, usual) FROM postino.caps WHERE coalesce(most, usual) IS NOT NULL
