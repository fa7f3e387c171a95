INSERT INTO postino.workers (id, host, pid, started_at) VALUES (:id, :host, :pid, coalesce(:now::timestamptz, now()))
ON CONFLICT (id) DO NOTHING  -- asked again after a lost answer
