-- Its first trouble makes its row, and one to lock when its probes are counted.
INSERT INTO postino_caps (channel) VALUES (:service) ON CONFLICT DO NOTHING;
INSERT INTO postino_circuits (service, state, failures, trips, probes, by_hand) VALUES (:service, 'closed', '[]', 0, 1, 0)
ON CONFLICT (service) DO UPDATE SET service = excluded.service
RETURNING *, :now AS now_at
