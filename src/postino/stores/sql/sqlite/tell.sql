INSERT INTO postino_events (at, type, job_id, data) VALUES (:now, :type, :job_id, :data)
