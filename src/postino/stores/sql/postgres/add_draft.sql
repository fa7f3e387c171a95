INSERT INTO postino.drafts (id, brand, author, said, version, created_at, changed_at)
VALUES (:id, :brand, :author, :said, 1, coalesce(:now::timestamptz, now()), coalesce(:now::timestamptz, now()))
RETURNING *
