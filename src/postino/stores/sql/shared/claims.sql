-- name: lock_caps
-- Count running jobs in a later statement: this statement's snapshot is older than its lock, and the cap would be
-- exceeded. Rows that another claim holds are skipped: waiting for a worker that is frozen in its claim would stop all
-- the others.
SELECT channel FROM postino.caps
WHERE channel = ANY (:channels::text[])
ORDER BY channel
FOR UPDATE SKIP LOCKED
