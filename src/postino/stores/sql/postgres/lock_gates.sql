-- Whoever claims from a capped channel holds its gate, and counts in a later statement: in this one the snapshot predates
-- the lock, and the cap would be exceeded. A gate that somebody else holds is left to them: waiting for a worker that
-- is frozen in the middle of its claim would stop everybody.
SELECT name, cap FROM postino.gates
WHERE scope = 'channel' AND name = ANY (:channels::text[])
ORDER BY name
FOR UPDATE SKIP LOCKED
