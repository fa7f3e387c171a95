UPDATE postino.answers AS answer SET status = told.status, body = told.body
FROM unnest(:caller::text[], :key::text[], :status::int[], :body::text[]) AS told (caller, key, status, body)
WHERE answer.caller = told.caller AND answer.key = told.key
