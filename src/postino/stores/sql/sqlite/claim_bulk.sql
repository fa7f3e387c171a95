UPDATE postino_jobs
SET state = 'running', claimed_by = :worker, claimed_at = :now, token = :token, attempts = attempts + 1, deferred = NULL
WHERE id IN (
    SELECT id FROM postino_jobs
    WHERE channel = :channel AND queue = :queue AND state = 'pending' AND lane IS NULL AND run_at >= :since_at AND run_at <= :now
    ORDER BY run_at
    LIMIT :share
) AND EXISTS (SELECT 1 FROM postino_workers WHERE postino_workers.id = :worker)
RETURNING *
