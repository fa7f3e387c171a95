SELECT * FROM postino_drafts WHERE id = :id
