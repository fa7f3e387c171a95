SELECT id, brand FROM postino.stored_jobs WHERE id = ANY (:ids::uuid[])
