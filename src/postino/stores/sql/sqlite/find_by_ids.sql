SELECT * FROM postino_stored_jobs WHERE id = :id
