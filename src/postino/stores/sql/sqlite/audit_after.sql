SELECT * FROM postino_audit WHERE seq > :seq ORDER BY seq LIMIT :limit
