SELECT request, what, status, body, created_at FROM postino.answers WHERE caller = :caller AND key = :key
