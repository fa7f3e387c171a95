-- name: lock_audit
-- Entries form one chain, so one writer at a time. The lock ends with the transaction.
WITH turn AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtext('postino.audit')))
SELECT (SELECT count(*) FROM turn) AS turn, :now AS now_at

-- name: get_last_audit_entry
SELECT seq, hash FROM postino.audit ORDER BY seq DESC LIMIT 1

-- name: insert_audit_entry
INSERT INTO postino.audit (seq, at, actor, action, subject, reason, detail, hash, proof)
VALUES (:seq, :at, :actor, :action, :subject, :reason, :detail, :hash, :proof)

-- name: list_audit_entries
SELECT * FROM postino.audit ORDER BY seq DESC LIMIT :limit

-- name: list_audit_page
SELECT * FROM postino.audit WHERE seq < coalesce(:before::bigint, 9223372036854775807) ORDER BY seq DESC LIMIT :limit

-- name: list_audit_after
SELECT * FROM postino.audit WHERE seq > :seq ORDER BY seq LIMIT :limit

-- name: find_audit_entry
SELECT * FROM postino.audit WHERE subject = :subject AND action = :action ORDER BY seq DESC LIMIT 1
