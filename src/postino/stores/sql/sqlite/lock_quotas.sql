-- The one writer is the lock.
SELECT 1 WHERE :channel IS NULL
