-- Whoever claims from a capped channel stands in line here, and counts in a later statement: in this one the snapshot
-- predates the lock, and the cap would be exceeded.
SELECT name FROM postino.gates WHERE scope = 'channel' AND name = ANY (:channels::text[]) ORDER BY name FOR UPDATE
