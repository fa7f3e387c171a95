SELECT channel, count(*) AS running FROM postino_jobs
WHERE state = 'running' AND channel IN (SELECT value FROM json_each(:channels))
GROUP BY channel
