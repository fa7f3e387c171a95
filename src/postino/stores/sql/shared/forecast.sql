-- name: list_jobs_due_by
-- Jobs that may run by then, and those that are running or uncertain now, without their payloads.
SELECT job.id, job.type, job.channel, job.queue, job.state, job.account, job.brand, job.scheduled_at, job.run_at,
  job.attempts,
       job.generation, job.rescues, job.may_be_live, job.ignore_blackouts, job.lookup_at, job.claimed_at,
         job.created_at,
       post.id IS NOT NULL AS is_post, post.publish_until_at
FROM postino.jobs AS job LEFT JOIN postino.posts AS post ON post.id = job.id
WHERE job.state <> 'pending' OR job.run_at <= :until_at
LIMIT :most

-- name: list_durations
-- How long the newest completed jobs took, read along the index of ids.
SELECT channel, claimed_at, finished_at FROM postino.finished_jobs
WHERE state = 'completed' AND token IS NOT NULL
ORDER BY id DESC LIMIT 1000

-- name: list_brand_turns
SELECT channel, brand, at FROM postino.brand_turns

-- name: list_quota_usage_since
SELECT channel, account, quota, cost, at FROM postino.quota_usage WHERE at >= :since_at
