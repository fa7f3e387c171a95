SELECT at, cost FROM postino.spent
WHERE channel = :spent_on AND quota = :quota AND account = :account AND at >= :since_at ORDER BY at
