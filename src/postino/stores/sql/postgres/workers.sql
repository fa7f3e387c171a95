SELECT * FROM postino.workers ORDER BY started_at, id
