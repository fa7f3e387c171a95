SELECT * FROM postino.stored_jobs WHERE id = :id
