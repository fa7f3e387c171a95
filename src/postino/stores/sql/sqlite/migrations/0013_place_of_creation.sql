-- On PostgreSQL, the place of a database now also names its tables. On SQLite it names the file.

-- A database without jobs knows where it was created, so that a backup of it that is put back is recognised.
UPDATE postino_database_state SET place = postino_locate()
WHERE installation IS NULL AND standing = 'open' AND NOT EXISTS (SELECT 1 FROM postino_jobs);
