SELECT * FROM postino_imports WHERE id = :id
