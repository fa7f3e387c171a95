-- Fenced like remember. What something visible was built on is kept.
WITH held AS (
    SELECT id, sent FROM postino.jobs WHERE id = :job_id AND token = :token FOR UPDATE
), gone AS (
    DELETE FROM postino.steps USING held WHERE job_id = held.id AND (name = :name OR NOT held.sent)
)
SELECT id FROM held
