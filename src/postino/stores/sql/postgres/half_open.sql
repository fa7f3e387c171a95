-- Once: by whoever comes first to an open circuit whose time is over.
UPDATE postino.circuits SET state = 'half_open', since_at = coalesce(:now::timestamptz, now())
WHERE service = ANY (:services::text[]) AND state = 'open' AND until_at <= coalesce(:now::timestamptz, now())
RETURNING service
