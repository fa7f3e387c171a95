-- The same by the same account moments ago, unless it failed or was cancelled.
SELECT post.id, post.account
FROM unnest(:account::text[], :fingerprint::text[]) AS wanted (account, fingerprint)
JOIN postino.posts AS post ON post.account = wanted.account AND post.fingerprint = wanted.fingerprint
CROSS JOIN LATERAL (SELECT * FROM postino.stored_jobs WHERE id = post.id OFFSET 0) AS job
WHERE greatest(post.created_at, job.scheduled_at, job.finished_at) > coalesce(:now::timestamptz, now()) - make_interval(secs => :seconds)
  AND job.state NOT IN ('failed', 'cancelled') AND job.scheduled_at <= coalesce(:now::timestamptz, now())
ORDER BY post.created_at DESC
