-- Whether a quota has no room for what is wanted. What this very call reserved before, when it could not be made, is its own.
SELECT :quota AS quota
WHERE :most < :cost + (
    SELECT coalesce(sum(cost), 0) FROM postino_spent
    WHERE channel = :spent_on AND quota = :quota AND account = :account AND at >= :since_at
      AND NOT (job_id = :job_id AND step = :step AND number = :number)
)
