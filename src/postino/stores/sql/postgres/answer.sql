SELECT answer.caller, answer.key, request, what, status, body, created_at
FROM unnest(:caller::text[], :key::text[]) AS wanted (caller, key)
JOIN postino.answers AS answer ON answer.caller = wanted.caller AND answer.key = wanted.key
