UPDATE postino_jobs SET dispatched_at = :now WHERE state = 'pending' AND run_at <= :now AND dispatched_at IS NULL;
SELECT changes() AS dispatched
