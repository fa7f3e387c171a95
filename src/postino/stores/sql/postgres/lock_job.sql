SELECT * FROM postino.jobs WHERE id = :id FOR UPDATE
