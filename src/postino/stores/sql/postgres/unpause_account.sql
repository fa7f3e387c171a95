UPDATE postino.accounts SET state = 'active', reason = NULL WHERE id = :id AND state = 'paused'
