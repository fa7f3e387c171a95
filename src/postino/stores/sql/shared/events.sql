-- name: insert_event
INSERT INTO postino.events (at, type, job_id, data)
VALUES (:now, :type, :job_id::uuid, :data)
