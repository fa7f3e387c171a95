SELECT * FROM postino_all_jobs WHERE id = :id
