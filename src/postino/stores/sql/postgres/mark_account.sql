UPDATE postino.accounts SET state = :state, reason = :reason WHERE id = :id RETURNING *
