-- What runs; and what may still be under way although its worker is gone.
SELECT channel, coalesce(brand, '') AS brand, count(*) AS running FROM postino.jobs
WHERE state <> 'pending' AND channel = ANY (:channels::text[]) AND (state = 'running' OR look_at > coalesce(:now::timestamptz, now()))
GROUP BY channel, coalesce(brand, '')
