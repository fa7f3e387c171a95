-- These go out even in a blackout.
UPDATE postino.jobs SET regardless = true WHERE id = ANY (:ids::uuid[])
