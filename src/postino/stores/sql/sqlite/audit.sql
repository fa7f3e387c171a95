SELECT * FROM postino_audit ORDER BY seq DESC LIMIT :limit
