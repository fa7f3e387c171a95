SELECT * FROM postino.gates ORDER BY scope, name
