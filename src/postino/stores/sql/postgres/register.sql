INSERT INTO postino.workers (id, host, pid, started_at) VALUES (:id, :host, :pid, coalesce(:now::timestamptz, now()))
