SELECT * FROM postino.all_jobs WHERE id = :id
