-- The one writer is the lock.
SELECT channel FROM postino_caps WHERE channel IN (SELECT value FROM json_each(:channels))
