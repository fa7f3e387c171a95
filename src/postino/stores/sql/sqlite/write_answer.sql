UPDATE postino_answers SET status = :status, body = :body WHERE caller = :caller AND key = :key
