SELECT id AS worker, host, pid, started_at, beats FROM postino_workers ORDER BY started_at, id
