-- Asked after a lost answer: which of these endings had been written all the same.
SELECT :id AS id
WHERE EXISTS (SELECT 1 FROM postino_finished WHERE id = :id AND token = :token)
   OR EXISTS (
       SELECT 1 FROM postino_attempts
       WHERE job_id = :id AND worker = :worker AND started_at = :started_at AND outcome = :outcome
   )
