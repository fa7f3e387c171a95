-- One chain, so one writer at a time; the lock ends with the transaction.
WITH turn AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtext('postino.audit')))
SELECT (SELECT count(*) FROM turn) AS turn, coalesce(:now::timestamptz, now()) AS now_at
