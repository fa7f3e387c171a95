INSERT INTO postino_workers (id, host, pid, started_at) VALUES (:id, :host, :pid, :now)
ON CONFLICT (id) DO NOTHING  -- asked again after a lost answer
