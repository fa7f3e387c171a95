SELECT channel, count(*) AS running FROM postino.jobs
WHERE state = 'running' AND channel = ANY (:channels::text[])
GROUP BY channel
