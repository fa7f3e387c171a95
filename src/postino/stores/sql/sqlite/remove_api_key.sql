DELETE FROM postino_api_keys WHERE id = :id RETURNING *
