DELETE FROM postino.drafts WHERE id = :id RETURNING *
