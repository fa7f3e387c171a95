SELECT channel, account, quota, cost, at FROM postino.spent WHERE at >= :since_at
