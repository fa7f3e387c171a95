-- Snap jobs, live and finished, in the words of a hand-made queue table.
CREATE OR REPLACE VIEW snap_processing_job AS
SELECT id,
       CASE state
           WHEN 'running' THEN 'PROCESSING'
           WHEN 'completed' THEN 'DONE'
           ELSE upper(state)            -- PENDING, FAILED, CANCELLED, UNCERTAIN
       END AS status,
       attempts AS attempt_count,
       CASE WHEN state = 'pending' THEN run_at END AS next_retry_at,
       last_error,
       claimed_by,                      -- the worker that has it, or had it last
       claimed_at AS locked_at
FROM postino.all_jobs
WHERE type = 'snap.process';
