DELETE FROM postino.api_keys WHERE id = :id RETURNING *
