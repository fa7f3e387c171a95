SELECT * FROM postino.audit WHERE seq > :seq ORDER BY seq LIMIT :limit
