-- The one writer is the lock.
SELECT 1 WHERE 0
