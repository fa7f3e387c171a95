UPDATE postino.answers SET status = :status, body = :body WHERE caller = :caller AND key = :key
