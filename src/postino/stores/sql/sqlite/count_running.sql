-- What runs; and what may still be under way although its worker is gone.
SELECT channel, coalesce(brand, '') AS brand, count(*) AS running FROM (
    SELECT channel, brand FROM postino_jobs
    WHERE state = 'running' AND channel IN (SELECT value FROM json_each(:channels))
    UNION ALL
    SELECT channel, brand FROM postino_jobs
    WHERE state = 'uncertain' AND channel IN (SELECT value FROM json_each(:channels)) AND look_at > :now
)
GROUP BY channel, coalesce(brand, '')
