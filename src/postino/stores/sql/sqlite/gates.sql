-- What a claim must know, as it is now: the look before it is a moment old.
SELECT 'clock' AS kind, NULL AS name, NULL AS queue, :now AS due_at, NULL AS detail, NULL AS amount
UNION ALL
SELECT 'gate', name, NULL, until_at,
       json_object('scope', scope, 'name', name, 'kind', kind, 'since_at', since_at, 'until_at', until_at, 'reason', reason), NULL
FROM postino_gates WHERE scope IN ('all', 'queue', 'channel', 'brand') AND until_at > :now
UNION ALL
SELECT 'blackout', id, NULL, NULL, told, NULL FROM postino_blackouts
UNION ALL
SELECT 'breaker', service, NULL, until_at,
       json_object('service', service, 'state', state, 'since_at', since_at, 'until_at', until_at, 'failures', failures,
                   'trips', trips, 'probes', probes, 'reason', reason, 'by_hand', by_hand), NULL
FROM postino_circuits WHERE state <> 'closed' OR failures <> '[]'
UNION ALL
SELECT 'cap', channel, NULL, NULL, NULL, coalesce(most, usual) FROM postino_caps WHERE coalesce(most, usual) IS NOT NULL
