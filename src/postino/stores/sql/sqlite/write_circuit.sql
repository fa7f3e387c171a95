UPDATE postino_circuits
SET state = :state, since_at = :since_at, until_at = :until_at, failures = :failures, trips = :trips, probes = :probes,
    reason = :reason, by_hand = :by_hand,
    trouble_at = CASE WHEN :state = 'closed' THEN NULL ELSE coalesce(trouble_at, :now) END
WHERE service = :service
