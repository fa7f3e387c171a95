SELECT at, cost FROM postino_spent
WHERE channel = :spent_on AND quota = :quota AND account = :account AND at >= :since_at ORDER BY at
