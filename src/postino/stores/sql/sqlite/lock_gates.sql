-- The one writer is the lock.
SELECT name, cap FROM postino_gates WHERE scope = 'channel' AND name IN (SELECT value FROM json_each(:channels))
