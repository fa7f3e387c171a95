-- Asked after a lost answer: which of these endings had been written all the same.
SELECT input.id
FROM unnest(:id::uuid[], :token::uuid[], :worker::text[], :started_at::timestamptz[], :outcome::text[])
    AS input (id, token, worker, started_at, outcome)
WHERE EXISTS (SELECT FROM postino.finished WHERE finished.id = input.id AND finished.token = input.token)
   OR EXISTS (
       SELECT FROM postino.attempts AS past
       WHERE past.job_id = input.id AND past.worker = input.worker AND past.started_at = input.started_at
         AND past.outcome = input.outcome
   )
