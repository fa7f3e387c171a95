-- Its first trouble makes its row, and one to lock when its probes are counted.
WITH capped AS (
    INSERT INTO postino.caps (channel) VALUES (:service) ON CONFLICT DO NOTHING
), made AS (
    INSERT INTO postino.circuits (service, state, failures, trips, probes, by_hand) VALUES (:service, 'closed', '[]', 0, 1, false)
    ON CONFLICT (service) DO UPDATE SET service = excluded.service
    RETURNING *
)
SELECT made.*, coalesce(:now::timestamptz, now()) AS now_at FROM made
