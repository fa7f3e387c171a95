SELECT * FROM postino.imports WHERE id = :id
