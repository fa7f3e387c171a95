-- Each id as a value, not as a join: only a value finds its way to the indexes below the view.
SELECT job.*
FROM unnest(:ids::uuid[]) AS wanted (id)
CROSS JOIN LATERAL (SELECT * FROM postino.stored_jobs WHERE id = wanted.id OFFSET 0) AS job
