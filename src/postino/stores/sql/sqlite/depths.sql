SELECT channel, queue, state, count(*) AS jobs, min(run_at) AS oldest_run_at FROM postino_jobs
GROUP BY channel, queue, state
ORDER BY channel, queue, state
