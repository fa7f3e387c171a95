-- What may run by then, and what runs or is in doubt now; what is in them concerns nobody here.
SELECT job.id, job.type, job.channel, job.queue, job.state, job.account, job.brand, job.scheduled_at, job.run_at, job.attempts,
       job.generation, job.rescues, job.sent, job.regardless, job.look_at, job.claimed_at, job.created_at,
       post.id IS NOT NULL AS is_post, post.publish_until_at
FROM postino_jobs AS job LEFT JOIN postino_posts AS post ON post.id = job.id
WHERE job.state <> 'pending' OR job.run_at <= :until_at
LIMIT :most
