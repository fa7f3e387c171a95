INSERT INTO postino_drafts (id, brand, author, said, version, created_at, changed_at)
VALUES (:id, :brand, :author, :said, 1, :now, :now)
RETURNING *
