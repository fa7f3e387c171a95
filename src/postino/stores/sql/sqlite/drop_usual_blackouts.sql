DELETE FROM postino_blackouts WHERE usual AND id NOT IN (SELECT value FROM json_each(:ids)) RETURNING told
