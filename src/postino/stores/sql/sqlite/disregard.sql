-- These go out even in a blackout.
UPDATE postino_jobs SET regardless = 1 WHERE id IN (SELECT value FROM json_each(:ids))
