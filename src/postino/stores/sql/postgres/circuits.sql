SELECT * FROM postino.circuits ORDER BY service
