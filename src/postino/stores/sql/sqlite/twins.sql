-- The same by the same account moments ago, unless it failed or was cancelled.
SELECT post.id, post.account
FROM postino_posts AS post
JOIN postino_stored_jobs AS job ON job.id = post.id
WHERE post.account = :account AND post.fingerprint = :fingerprint
  AND max(post.created_at, job.scheduled_at, coalesce(job.finished_at, '')) > strftime('%Y-%m-%dT%H:%M:%f', :now, -:seconds || ' seconds') || '000Z'
  AND job.state NOT IN ('failed', 'cancelled') AND job.scheduled_at <= :now
ORDER BY post.created_at DESC
