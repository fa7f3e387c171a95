SELECT * FROM postino.drafts WHERE id = :id
