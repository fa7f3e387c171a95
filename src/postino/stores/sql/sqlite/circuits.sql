SELECT * FROM postino_circuits ORDER BY service
