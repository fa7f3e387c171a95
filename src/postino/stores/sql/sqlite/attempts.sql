-- What completed a job is the finished row itself; without a token it was a person's word, and has its line.
SELECT job_id, generation, number, started_at, ended_at, worker, outcome, error_class, message, trace
FROM postino_attempts WHERE job_id = :id
UNION ALL
SELECT id, generation, attempts, claimed_at, finished_at, claimed_by, state, NULL, NULL, NULL
FROM postino_finished WHERE id = :id AND state = 'completed' AND token IS NOT NULL
ORDER BY started_at, generation, number
