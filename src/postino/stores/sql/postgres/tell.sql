INSERT INTO postino.events (at, type, job_id, data)
VALUES (coalesce(:now::timestamptz, now()), :type, :job_id::uuid, :data)
