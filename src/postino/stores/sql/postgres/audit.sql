SELECT * FROM postino.audit ORDER BY seq DESC LIMIT :limit
