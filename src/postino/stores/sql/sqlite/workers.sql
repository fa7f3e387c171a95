SELECT * FROM postino_workers ORDER BY started_at, id
