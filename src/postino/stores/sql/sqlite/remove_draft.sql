DELETE FROM postino_drafts WHERE id = :id RETURNING *
