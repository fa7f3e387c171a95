-- Only while the beats stand where the observer saw them stop: a worker that beat meanwhile lives.
DELETE FROM postino.workers AS worker
USING unnest(:id::text[], :beats::bigint[]) AS dead (id, beats)
WHERE worker.id = dead.id AND worker.beats = dead.beats
RETURNING worker.id AS worker, worker.suspect::text AS suspect
