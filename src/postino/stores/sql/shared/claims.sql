-- name: lock_caps
-- Whoever claims from a capped channel holds its row, and counts in a later statement: in this one the snapshot predates
-- the lock, and the cap would be exceeded. A row that somebody else holds is left to them: waiting for a worker that
-- is frozen in the middle of its claim would stop everybody.
SELECT channel FROM postino.caps
WHERE channel = ANY (:channels::text[])
ORDER BY channel
FOR UPDATE SKIP LOCKED
