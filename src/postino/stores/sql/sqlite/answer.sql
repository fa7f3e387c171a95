SELECT caller, key, request, what, status, body, created_at FROM postino_answers WHERE caller = :caller AND key = :key
