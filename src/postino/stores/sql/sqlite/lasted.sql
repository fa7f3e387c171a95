-- How long the youngest jobs that worked took, along the index of their ids, whatever else has finished.
SELECT channel, claimed_at, finished_at FROM postino_finished
WHERE state = 'completed' AND token IS NOT NULL
ORDER BY id DESC LIMIT 1000
