SELECT * FROM postino_gates ORDER BY scope, name
