-- A list, not a join: only a list finds its way to the indexes below the view.
SELECT * FROM postino_stored_jobs WHERE id IN (SELECT value FROM json_each(:ids))
