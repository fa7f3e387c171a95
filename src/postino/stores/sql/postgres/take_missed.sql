-- What was to be out by now and of which nothing is or may be out; out of everybody's reach until the end of this transaction.
UPDATE postino.jobs SET state = 'uncertain'
WHERE state = 'pending' AND id IN (
    SELECT job.id FROM postino.posts AS post JOIN postino.jobs AS job ON job.id = post.id
    WHERE post.publish_until_at <= coalesce(:now::timestamptz, now()) AND job.state = 'pending' AND job.look_at IS NULL
      AND NOT EXISTS (
          SELECT FROM postino.receipts WHERE job_id = job.id AND verdict = 'accepted'
      )
      AND job.generation = 1  -- a person who replays it wants it all the same
    ORDER BY job.id LIMIT 500
    FOR UPDATE OF job SKIP LOCKED
)
RETURNING *
