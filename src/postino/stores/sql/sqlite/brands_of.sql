SELECT id, brand FROM postino_stored_jobs WHERE id IN (SELECT value FROM json_each(:ids))
