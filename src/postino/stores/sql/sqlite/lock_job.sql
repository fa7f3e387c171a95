SELECT * FROM postino_jobs WHERE id = :id
