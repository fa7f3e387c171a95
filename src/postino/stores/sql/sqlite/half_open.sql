-- Once: by whoever comes first to an open circuit whose time is over.
UPDATE postino_circuits SET state = 'half_open', since_at = :now
WHERE service IN (SELECT value FROM json_each(:services)) AND state = 'open' AND until_at <= :now
RETURNING service
