-- Fenced like remember. What something visible was built on is kept.
DELETE FROM postino_steps
WHERE job_id = (SELECT id FROM postino_jobs WHERE id = :job_id AND token = :token AND (postino_steps.name = :name OR NOT sent));
SELECT id FROM postino_jobs WHERE id = :job_id AND token = :token
