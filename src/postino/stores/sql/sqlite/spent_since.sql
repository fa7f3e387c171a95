SELECT channel, account, quota, cost, at FROM postino_spent WHERE at >= :since_at
